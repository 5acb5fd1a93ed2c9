/**
 * Limit calls to one every `period` ms, with the newest arguments; the last call is never lost.
 * @template {any[]} A
 * @param {(...values: A) => void} action
 * @param {number} period ms
 * @returns {(...values: A) => void}
 */
export function throttle(action, period) {
  let waiting = false;
  let newest = null;
  const flush = () => {
    waiting = newest !== null;
    if (!waiting) return;
    const values = newest;
    newest = null;
    setTimeout(flush, period);
    action(...values);
  };
  return (...values) => {
    newest = values;
    if (!waiting) flush();
  };
}
