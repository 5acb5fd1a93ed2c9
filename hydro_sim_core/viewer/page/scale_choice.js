// The full scale of pressure: that of the scene, unless this page chooses another one.

import { make, threeDigits } from "./elements.js";

const UNITS = [["MPa", 1e6], ["kPa", 1e3], ["Pa", 1]];
const OFFERED = [1, 2, 3, 4, 5, 6].flatMap((power) => [1, 2, 5].map((digit) => digit * 10 ** power)); // Pa

/** Unit of a full scale, as in hydro_sim_core/drawing/pressure_scale.py. */
const unitOf = (maximum) => UNITS.find(([, size]) => maximum >= size) ?? UNITS.at(-1);

export class ScaleChoice {
  /**
   * @param {HTMLSelectElement} select
   * @param {(scale: import("./protocol.js").Scene["scale"]) => void} show
   */
  constructor(select, show) {
    this._select = select;
    this._show = show;
    select.addEventListener("change", () => this._choose());
  }

  /** @param {import("./protocol.js").Scene["scale"]} scale That of the scene. */
  load(scale) {
    this._scale = scale;
    const chosen = this._select.value;
    const options = OFFERED.map((maximum) => option(String(maximum), named(maximum, unitOf(maximum))));
    this._select.replaceChildren(option("", `of the scene, ${named(scale.maximum, scale.unit)}`), ...options);
    this._select.value = chosen;
    this._choose();
  }

  _choose() {
    const maximum = Number(this._select.value);
    this._show(maximum ? { ...this._scale, maximum, unit: unitOf(maximum) } : this._scale);
  }
}

function named(maximum, [name, size]) {
  return `${threeDigits(maximum / size)} ${name}`;
}

function option(value, textContent) {
  return make("option", { value, textContent });
}
