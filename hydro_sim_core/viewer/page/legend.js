// Legend of colours and arrows.

import { make, threeDigits } from "./elements.js";
import { largestPressure } from "./laws.js";

const TICKS = 5;

export class Legend {
  /** @param {HTMLElement} root */
  constructor(root) {
    this.root = root;
    this._bar = make("canvas", { height: 1 });
    this._mark = make("span", { className: "mark", hidden: true });
    this._ticks = make("div", { className: "ticks" });
    this._force = make("span", { className: "force" });
    this._moment = make("span", { className: "moment" });
    this._units = make("p", { className: "units" }, this._force, this._moment);
    const words = "≈ and red edges: inaccurate force";
    this._warning = make("p", { className: "warning", textContent: words, hidden: true });
    this._title = make("h2");
    this._now = make("output");
    const head = make("div", { className: "head" }, this._title, this._now);
    root.append(head, make("div", { className: "bar" }, this._bar, this._mark), this._ticks, this._units, this._warning);
  }

  /** @param {import("./protocol.js").Scene["scale"]} scale */
  setScale(scale) {
    this._maximum = scale.maximum;
    const pixels = new Uint8ClampedArray(scale.colours.flatMap(([r, g, b]) => [r, g, b, 255]));
    this._bar.width = scale.colours.length;
    this._bar.getContext("2d").putImageData(new ImageData(pixels, scale.colours.length), 0, 0);
    const [unit, size] = scale.unit;
    this._unitSize = size;
    this._title.textContent = `Contact pressure, ${unit}`;
    const values = Array.from({ length: TICKS }, (_, i) => (i / (TICKS - 1)) * (scale.maximum / size));
    const texts = values.map((value, i) => `${i === TICKS - 1 ? "≥ " : ""}${Number(value.toPrecision(3))}`);
    this._ticks.replaceChildren(...texts.map((textContent) => make("span", { textContent })));
    [...this._ticks.children].forEach((tick, i) => (tick.style.left = `${(100 * i) / (TICKS - 1)}%`));
  }

  /**
   * @param {import("./protocol.js").Frame} frame
   * @param {{force: number, moment: number}|null} unit N and N m of an arrow of 5 cm; null without arrows.
   */
  show({ patches }, unit) {
    const largest = largestPressure(patches);
    this._mark.hidden = largest === 0;
    this._mark.style.left = `${100 * Math.min(1, largest / this._maximum)}%`;
    this._now.textContent = largest > 0 ? `max ${threeDigits(largest / this._unitSize)}` : "";
    this._now.classList.toggle("beyond", largest > this._maximum);
    this._warning.hidden = !patches.some(({ problem }) => problem);
    this._units.hidden = !unit || !patches.length;
    if (!unit) return;
    this._force.textContent = `force, ${unit.force} N = 5 cm`;
    this._moment.textContent = `moment, ${unit.moment} N m = 5 cm`;
  }
}
