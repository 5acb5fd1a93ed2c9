// Pulling bodies by hand: with Ctrl or Cmd, or with the tool switched on, a pointer drags a point of a body by a spring.

import { Plane, Raycaster, Vector2, Vector3 } from "./vendor/three/three.module.min.js";
import { throttle } from "./throttle.js";

const COMMAND_PERIOD = 50; // ms between two commands while dragging
const HOVER_PERIOD = 60; // ms between two looks for what is below the pointer

/** @typedef {import("./springs.js").Spring} Spring */

export class Drag {
  /**
   * @param {import("./stage.js").Stage} stage
   * @param {import("./robot.js").Robot} robot
   * @param {import("./springs.js").Springs} springs
   * @param {HTMLButtonElement} tool Switches dragging without a modifier on and off.
   * @param {(command: object) => void} send
   */
  constructor(stage, robot, springs, tool, send) {
    Object.assign(this, { stage, robot, springs, tool, _send: send });
    this._raycaster = new Raycaster();
    this._pullable = new Set();
    this._epoch = null;
    /** What the pointer holds: link, point in its frame, plane in which it is dragged, target. */
    this._held = null;
    this._force = null;
    /** Springs of other pages. @type {Spring[]} */
    this._others = [];
    this._hover = throttle((event) => this._showWhatCanBeHeld(event), HOVER_PERIOD);
    this._command = throttle((held) => {
      if (held === this._held) this._pull();
    }, COMMAND_PERIOD);
    tool.addEventListener("click", () => this._switch(tool.getAttribute("aria-pressed") !== "true"));
    this._listen(stage.canvas);
  }

  /** @param {import("./protocol.js").Scene} scene */
  load({ pullable }) {
    this.letGo();
    this._pullable = new Set(pullable);
    this._epoch = null;
    this.tool.hidden = !pullable.length;
    if (!pullable.length) this._switch(false);
  }

  /**
   * Show the springs of a frame; that of this page follows its own pointer, ahead of the simulation.
   * @param {import("./protocol.js").Frame} frame
   */
  show({ epoch, pulls }) {
    if (this._epoch !== null && epoch !== this._epoch) this.letGo();
    this._epoch = epoch;
    const seen = pulls.map(({ link, point, target, force }) => ({
      link,
      point: new Vector3(...point),
      target: new Vector3(...target),
      force: Math.hypot(...force),
    }));
    this._others = seen.filter(({ link }) => link !== this._held?.link);
    this._force = seen.find(({ link }) => link === this._held?.link)?.force ?? null;
    this._draw();
  }

  letGo() {
    if (!this._held) return;
    const { link, pointer } = this._held;
    this._held = null;
    document.body.classList.remove("dragging");
    if (this.stage.canvas.hasPointerCapture(pointer)) this.stage.canvas.releasePointerCapture(pointer);
    this._send({ type: "let_go", link });
    this._draw();
  }

  _listen(canvas) {
    // In the capturing phase, so that a drag of a body does not turn the camera too.
    canvas.addEventListener("pointerdown", (event) => this._grab(event), { capture: true });
    canvas.addEventListener("pointermove", (event) => this._move(event), { capture: true });
    for (const end of ["pointerup", "pointercancel", "lostpointercapture"]) {
      canvas.addEventListener(end, ({ pointerId }) => pointerId === this._held?.pointer && this.letGo());
    }
    addEventListener("blur", () => this.letGo());
    document.addEventListener("visibilitychange", () => document.hidden && this.letGo());
    addEventListener("keydown", ({ key }) => key === "Escape" && this.letGo());
  }

  _switch(on) {
    this.tool.setAttribute("aria-pressed", String(on));
    document.body.classList.toggle("pulls", on);
  }

  _wants(event) {
    return event.ctrlKey || event.metaKey || this.tool.getAttribute("aria-pressed") === "true";
  }

  _grab(event) {
    if (this._held) {
      event.stopImmediatePropagation(); // a second finger
      return;
    }
    if (event.button !== 0 || !this._wants(event)) return;
    const hit = this._bodyAt(event);
    if (!hit) return;
    event.stopImmediatePropagation();
    this.stage.canvas.setPointerCapture(event.pointerId);
    const link = hit.object.userData.link;
    const normal = this.stage.camera.getWorldDirection(new Vector3());
    const plane = new Plane().setFromNormalAndCoplanarPoint(normal, hit.point);
    const point = this.robot.inLink(link, hit.point);
    this._held = { link, point, plane, target: hit.point.clone(), pointer: event.pointerId };
    this._force = null;
    document.body.classList.add("dragging");
    this._pull();
    this._draw();
  }

  _move(event) {
    if (!this._held) {
      if (!event.buttons && event.pointerType !== "touch") this._hover(event);
      return;
    }
    event.stopImmediatePropagation();
    if (event.pointerId !== this._held.pointer) return;
    this._aim(event);
    if (!this._raycaster.ray.intersectPlane(this._held.plane, this._held.target)) return;
    this._command(this._held);
    this._draw();
  }

  _showWhatCanBeHeld(event) {
    document.body.classList.toggle("grabbable", this._wants(event) && this._bodyAt(event) !== null);
  }

  /** The nearest body at the pointer, if it can be pulled. */
  _bodyAt(event) {
    this._aim(event);
    const [hit] = this._raycaster.intersectObjects(this.robot.bodies, false);
    return hit && this._pullable.has(hit.object.userData.link) ? hit : null;
  }

  _aim({ clientX, clientY }) {
    const { left, top, width, height } = this.stage.canvas.getBoundingClientRect();
    const at = new Vector2((2 * (clientX - left)) / width - 1, 1 - (2 * (clientY - top)) / height);
    this._raycaster.setFromCamera(at, this.stage.camera);
  }

  _pull() {
    const { link, point, target } = this._held;
    this._send({ type: "pull", link, point: point.toArray(), target: target.toArray() });
  }

  _draw() {
    const mine = [];
    if (this._held) {
      const { link, point, target } = this._held;
      mine.push({ point: this.robot.inWorld(link, point), target, force: this._force });
    }
    this.springs.show([...mine, ...this._others]);
  }
}
