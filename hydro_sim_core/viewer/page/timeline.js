// The time line of a recording.

import { make, SpeedChoice, SPEEDS } from "./elements.js";
import { throttle } from "./throttle.js";

const SEEK_PERIOD = 50; // ms
const LET_GO = 300; // ms

export class Timeline {
  /**
   * @param {HTMLElement} root
   * @param {(command: object) => void} send
   */
  constructor(root, send) {
    this.root = root;
    this._paused = false;
    this._held = false;
    this._play = make("button", { className: "primary", title: "Play or pause (space)" });
    this._slider = make("input", { type: "range", step: "any", ariaLabel: "Time, s" });
    this._text = make("output");
    const speed = make("select", { ariaLabel: "Speed" });
    this._speed = new SpeedChoice(speed, SPEEDS, (factor) => send({ type: "speed", factor }));
    root.append(this._play, this._slider, this._text, speed);
    this._send = send;
    this._seek = throttle((time) => send({ type: "seek", time }), SEEK_PERIOD);
    this._listen();
  }

  /** @param {{start: number, end: number}|null} range s */
  load(range) {
    this.root.hidden = !range;
    this._range = range;
    if (range) Object.assign(this._slider, { min: range.start, max: range.end });
  }

  /** @param {import("./protocol.js").Frame} frame */
  show({ timeline_time: time, paused, speed }) {
    if (!this._range) return;
    this._paused = paused;
    this._play.textContent = paused ? "Play" : "Pause";
    this._speed.show(speed);
    if (this._held || time === null) return;
    this._slider.value = time;
    this._tell(time);
  }

  togglePause() {
    if (this._range) this._send({ type: "pause", paused: !this._paused });
  }

  _tell(time) {
    this._text.textContent = `${(time - this._range.start).toFixed(2)} / ${(this._range.end - this._range.start).toFixed(2)} s`;
  }

  _listen() {
    this._play.addEventListener("click", () => this.togglePause());
    this._slider.addEventListener("input", () => {
      clearTimeout(this._timer);
      this._held = true;
      this._tell(Number(this._slider.value));
      this._seek(Number(this._slider.value));
    });
    this._slider.addEventListener("change", () => {
      clearTimeout(this._timer);
      this._timer = setTimeout(() => (this._held = false), LET_GO);
    });
  }
}
