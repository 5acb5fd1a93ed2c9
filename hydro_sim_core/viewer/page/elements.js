// Short ways to make and find elements.

/** @param {string} id */
export const byId = (id) => document.getElementById(id);

/**
 * @param {string} tag
 * @param {object} [properties] Assigned to the element.
 * @param {...(Node|string)} children
 */
export function make(tag, properties = {}, ...children) {
  const element = Object.assign(document.createElement(tag), properties);
  element.append(...children);
  return element;
}

/** A `<select>` of speeds; a speed that is not offered is added when it is shown. */
export class SpeedChoice {
  /**
   * @param {HTMLSelectElement} select
   * @param {(factor: number|null) => void} choose null: as fast as possible.
   */
  constructor(select, choose) {
    this.select = select;
    for (const factor of [0.1, 0.25, 0.5, 1, 2, 5, null]) select.append(speedOption(factor));
    select.value = "1";
    select.addEventListener("change", () => choose(select.value === "null" ? null : Number(select.value)));
  }

  show(factor) {
    const value = String(factor);
    if (this.select.value === value || this.select === document.activeElement) return;
    if (![...this.select.options].some((option) => option.value === value)) this.select.append(speedOption(factor));
    this.select.value = value;
  }
}

function speedOption(factor) {
  const text = factor === null ? "as fast as possible" : `${Number(factor.toPrecision(3))}×`;
  return make("option", { value: String(factor), textContent: text });
}
