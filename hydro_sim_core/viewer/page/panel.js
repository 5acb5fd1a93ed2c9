// The panel beside the scene: controls, and a table of contacts.

import { byId, make, SpeedChoice, SPEEDS, threeDigits } from "./elements.js";
import { EQUIVALENT_POINT, listLaws, RIGID_SKIN } from "./laws.js";
import { Slider } from "./slider.js";
import { throttle } from "./throttle.js";

const PERIOD = 150; // ms between two updates of numbers, as fast as they can be read
const MOST_CONTACTS = 12;
/** Words beside the bodies in the table of contacts, by law. */
const MARKS = { [RIGID_SKIN]: "rigid", [EQUIVALENT_POINT]: "point" };
const ANY_ANGLE = Math.PI; // range of a joint without limits
const ANY_LENGTH = 1; // m

export class Panel {
  /**
   * @param {(command: object) => void} send
   * @param {(patch: import("./protocol.js").Patch) => void} focus
   */
  constructor(send, focus) {
    this._send = send;
    this._focus = focus;
    this._joints = [];
    this._grips = new Map();
    this._paused = false;
    this._speed = new SpeedChoice(byId("speed"), [...SPEEDS, null], (factor) => send({ type: "speed", factor }));
    byId("pause").addEventListener("click", () => this.togglePause());
    byId("step").addEventListener("click", () => this.step());
    byId("reset").addEventListener("click", () => send({ type: "reset" }));
    /** @type {(frame: import("./protocol.js").Frame) => void} */
    this.show = throttle((frame) => this._show(frame), PERIOD);
  }

  /** @param {import("./protocol.js").Scene["scale"]} scale */
  setScale({ unit: [name, size] }) {
    this._unitSize = size;
    byId("pressure-unit").textContent = name;
  }

  /** @param {import("./protocol.js").Scene} scene */
  load(scene) {
    const enabled = scene.takes_commands;
    byId("run-section").hidden = !enabled;
    this._enabled = enabled;
    this._joints = scene.joints.map((joint) => this._jointSlider(joint, enabled));
    fill("joint-section", this._joints);
    this._grips = new Map(scene.grippers.map((gripper) => [gripper.name, this._gripSlider(gripper, enabled)]));
    fill("grip-section", [...this._grips.values()]);
    listLaws(scene.laws);
  }

  togglePause() {
    if (this._enabled) this._send({ type: "pause", paused: !this._paused });
  }

  step() {
    if (!this._enabled) return;
    if (!this._paused) this._send({ type: "pause", paused: true });
    this._send({ type: "step", steps: 1 });
  }

  _show(frame) {
    this._paused = frame.paused;
    byId("pause").textContent = frame.paused ? "Go on" : "Pause";
    this._speed.show(frame.speed);
    this._joints.forEach((slider, i) => slider.follow(frame.joints[i]));
    for (const [name, slider] of this._grips) slider.follow(frame.grip_forces[name]);
    this._listContacts(frame.patches);
  }

  _listContacts(patches) {
    const strongest = [...patches].sort((p, q) => Math.hypot(...q.force) - Math.hypot(...p.force));
    const listed = strongest.slice(0, MOST_CONTACTS).sort((p, q) => (pairOf(p) < pairOf(q) ? -1 : 1)); // so that rows stay
    const rows = listed.flatMap((patch) => this._contactRows(patch));
    if (patches.length > MOST_CONTACTS) rows.push(wordRow(`and ${patches.length - MOST_CONTACTS} weaker`));
    if (!patches.length) rows.push(wordRow("none"));
    byId("contacts").tBodies[0].replaceChildren(...rows);
  }

  _contactRows(patch) {
    const numbers = [Math.hypot(...patch.force), 1e4 * patch.area, patch.max_pressure / this._unitSize];
    const hasNoArea = patch.law === EQUIVALENT_POINT && !patch.area; // along a line or at a point
    const cells = numbers.map((value, i) => make("td", { textContent: hasNoArea && i ? "–" : threeDigits(value) }));
    const law = MARKS[patch.law] ? [make("small", { textContent: MARKS[patch.law] })] : [];
    const title = `Contact by ${patch.law}. Look at it`;
    const row = make("tr", { title }, make("td", {}, pairOf(patch), ...law), ...cells);
    row.addEventListener("click", () => this._focus(patch));
    return patch.problem ? [row, wordRow(patch.problem, "problem")] : [row];
  }

  _jointSlider({ name, unit, lower, upper, commandable }, enabled) {
    const far = unit === "rad" ? ANY_ANGLE : ANY_LENGTH;
    const digits = unit === "rad" ? 3 : 4;
    const range = { lower: lower ?? -far, upper: upper ?? far };
    const options = { label: name, unit, digits, ...range, enabled: enabled && commandable };
    return new Slider(options, (position) => this._send({ type: "joint", name, position }));
  }

  _gripSlider({ name, max_force: upper, unit }, enabled) {
    const options = { label: name, unit, lower: 0, upper, digits: unit === "N" ? 1 : 2, enabled };
    return new Slider(options, (force) => this._send({ type: "grip", name, force }));
  }
}

function pairOf({ a, b }) {
  return `${a} on ${b}`;
}

function wordRow(textContent, className = "") {
  return make("tr", { className }, make("td", { colSpan: 4, textContent }));
}

function fill(id, sliders) {
  const section = byId(id);
  section.hidden = sliders.length === 0;
  section.replaceChildren(section.querySelector("h2"), ...sliders.map((slider) => slider.element));
}
