// Median.

/** The middle one of some numbers. */
export function median(values) {
  return [...values].sort((x, y) => x - y)[values.length >> 1];
}
