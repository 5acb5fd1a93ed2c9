// Helpers to make and find elements.

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

/** A number for people: three digits, and no more than three decimals. */
export function threeDigits(value) {
  if (!Number.isFinite(value)) return "";
  return String(Number(Number(value.toPrecision(3)).toFixed(3)));
}

/** Real-time factors offered. */
export const SPEEDS = [0.1, 0.25, 0.5, 1, 2, 5];

/** A `<select>` of speeds; other speeds are added when they are shown. */
export class SpeedChoice {
  /**
   * @param {HTMLSelectElement} select
   * @param {(number|null)[]} offered null: as fast as possible.
   * @param {(factor: number|null) => void} choose
   */
  constructor(select, offered, choose) {
    this.select = select;
    this._told = "1";
    select.append(...offered.map(speedOption));
    select.value = this._told;
    select.addEventListener("change", () => {
      choose(select.value === "null" ? null : Number(select.value));
      select.value = this._told; // until a frame confirms the command, which may be rejected
      select.blur();
    });
  }

  show(factor) {
    this._told = String(factor);
    if (this.select.value === this._told || this.select === document.activeElement) return;
    if (![...this.select.options].some((option) => option.value === this._told)) this.select.append(speedOption(factor));
    this.select.value = this._told;
  }
}

function speedOption(factor) {
  const text = factor === null ? "as fast as possible" : `${Number(factor.toPrecision(3))}×`;
  return make("option", { value: String(factor), textContent: text });
}
