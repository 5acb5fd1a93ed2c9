// A slider with a number. Both follow the simulation except while the user moves them.

import { make } from "./elements.js";
import { throttle } from "./throttle.js";

const COMMAND_PERIOD = 50; // ms between two commands while dragging
const LET_GO = 600; // ms after which a slider follows again, time for the command to take effect

export class Slider {
  /**
   * @param {{label: string, unit: string, lower: number, upper: number, digits: number, enabled: boolean}} options
   * @param {(value: number) => void} send
   */
  constructor({ label, unit, lower, upper, digits, enabled }, send) {
    this._digits = digits;
    this._held = false;
    const range = { min: lower, max: upper, step: 10 ** -digits, disabled: !enabled };
    this._slider = make("input", { type: "range", ...range, ariaLabel: `${label}, ${unit}` });
    this._number = make("input", { type: "number", ...range, step: "any", ariaLabel: `${label}, ${unit}` });
    const name = make("span", { className: "name", textContent: label, title: label });
    const value = make("span", { className: "value" }, this._number, make("span", { className: "unit", textContent: unit }));
    this.element = make("div", { className: "slider" }, name, this._slider, value);
    this._send = throttle(send, COMMAND_PERIOD);
    this._listen();
  }

  /** @param {number} value Value in the simulation. */
  follow(value) {
    if (this._held || !Number.isFinite(value)) return;
    const text = value.toFixed(this._digits);
    if (this._slider.value !== text) this._slider.value = text;
    if (this._number !== document.activeElement) this._number.value = text;
  }

  _listen() {
    this._slider.addEventListener("pointerdown", () => this._hold());
    this._slider.addEventListener("input", () => {
      this._hold();
      this._number.value = this._slider.value;
      this._send(Number(this._slider.value));
    });
    for (const end of ["change", "pointerup", "pointercancel"]) {
      this._slider.addEventListener(end, () => this._letGo());
    }
    this._number.addEventListener("change", () => {
      if (this._number.value === "") return;
      this._slider.value = this._number.value;
      this._send(Number(this._number.value));
      this._number.blur();
      this._hold();
      this._letGo();
    });
  }

  _hold() {
    clearTimeout(this._timer);
    this._held = true;
  }

  _letGo() {
    clearTimeout(this._timer);
    this._timer = setTimeout(() => (this._held = false), LET_GO);
  }
}
