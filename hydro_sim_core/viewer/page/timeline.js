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
    this._gaps = make("div", { className: "gaps" });
    const line = make("div", { className: "line" });
    line.append(this._slider, this._gaps);
    root.append(this._play, line, this._text, speed);
    this._send = send;
    this._seek = throttle((time) => send({ type: "seek", time }), SEEK_PERIOD);
    this._listen();
  }

  /** @param {import("./protocol.js").Range|null} range */
  load(range) {
    this.root.hidden = !range;
    this._range = range;
    if (!range) return;
    Object.assign(this._slider, { min: range.start, max: range.end });
    this._gaps.replaceChildren(...range.gaps.map((gap) => this._mark(gap)));
  }

  /** A mark where the recording is damaged. */
  _mark([begin, end]) {
    const { start, end: last } = this._range;
    const share = (time) => `${(100 * (time - start)) / (last - start)}%`;
    const shown = (time) => (time - start).toFixed(2);
    const mark = make("span", { title: `damaged: ${shown(begin)} to ${shown(end)} s are missing` });
    Object.assign(mark.style, { left: share(begin), width: share(start + end - begin) });
    return mark;
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
    const { start, end, gaps } = this._range;
    const missing = gaps.some(([begin, last]) => begin < time && time < last);
    this._text.textContent = `${(time - start).toFixed(2)} / ${(end - start).toFixed(2)} s${missing ? ", missing" : ""}`;
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
