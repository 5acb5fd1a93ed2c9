// Labels in the scene: forces at their arrows, names of bodies and of frames.

import { make } from "./elements.js";
import { Vector3 } from "./vendor/three/three.module.min.js";

const MOST = 60; // labels at once
const HEIGHT = 17; // px
const GAP = 3; // px between two labels
const FONT = "600 11px system-ui, sans-serif";

/**
 * @typedef {object} Label
 * @property {string} text
 * @property {Vector3} point World, m.
 * @property {Vector3} [from] World, m: the label is beyond the point as seen from here.
 * @property {number} [room] Space to leave at the point, px.
 */

export class Labels {
  /**
   * @param {import("./stage.js").Stage} stage
   * @param {HTMLElement} root
   */
  constructor(stage, root) {
    this.stage = stage;
    this.root = root;
    /** Labels of each kind; kinds that come first have precedence. @type {Map<string, Label[]>} */
    this._kinds = new Map();
    this._elements = [];
    this._measure = document.createElement("canvas").getContext("2d");
    this._measure.font = FONT;
    this._widths = new Map();
    stage.afterDrawing.push(() => this._place());
  }

  /**
   * @param {string} kind Class of the elements.
   * @param {Label[]} labels The most important ones first; of two that would overlap, the second is left out.
   */
  show(kind, labels) {
    this._kinds.set(kind, labels);
  }

  _place() {
    const { clientWidth, clientHeight } = this.stage.canvas;
    const taken = [];
    for (const [kind, labels] of this._kinds) {
      for (const { text, point, from, room = 0 } of labels) {
        const at = point.clone().project(this.stage.camera);
        if (Math.abs(at.z) > 1 || Math.abs(at.x) > 1 || Math.abs(at.y) > 1) continue;
        const half = this._width(text) / 2 + GAP;
        let [x, y] = [((1 + at.x) / 2) * clientWidth, ((1 - at.y) / 2) * clientHeight];
        if (from) {
          const start = from.clone().project(this.stage.camera);
          const [across, up] = [(at.x - start.x) * clientWidth, (start.y - at.y) * clientHeight];
          const length = Math.hypot(across, up) || 1;
          x += (across / length) * (half + GAP + room);
          y += (up / length) * (HEIGHT * 0.75 + room);
        }
        if (taken.length >= MOST) break;
        if (taken.some((other) => Math.abs(other.x - x) < other.half + half && Math.abs(other.y - y) < HEIGHT)) continue;
        taken.push({ x, y, half, text, kind });
      }
    }
    taken.forEach((label, i) => this._write(this._element(i), label));
    this._elements.slice(taken.length).forEach((element) => (element.hidden = true));
  }

  _write(element, { x, y, text, kind }) {
    if (element.textContent !== text) element.textContent = text;
    if (element.className !== `label ${kind}`) element.className = `label ${kind}`;
    element.style.transform = `translate(${x.toFixed(1)}px, ${y.toFixed(1)}px) translate(-50%, -50%)`;
    element.hidden = false;
  }

  _element(i) {
    if (!this._elements[i]) {
      this._elements[i] = make("div");
      this.root.append(this._elements[i]);
    }
    return this._elements[i];
  }

  _width(text) {
    if (this._widths.size > 2000) this._widths.clear(); // numbers change all the time
    if (!this._widths.has(text)) this._widths.set(text, this._measure.measureText(text).width);
    return this._widths.get(text);
  }
}
