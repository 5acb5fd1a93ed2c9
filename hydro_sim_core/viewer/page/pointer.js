// Pointer: tooltips, and the targets of double-clicks.

import { Raycaster, Vector2 } from "./vendor/three/three.module.min.js";
import { contactPoints } from "./contact_view.js";
import { threeDigits } from "./elements.js";

export class Pointer {
  /**
   * @param {import("./stage.js").Stage} stage
   * @param {import("./robot.js").Robot} robot
   * @param {import("./patches.js").Patches} patches
   * @param {import("./camera.js").CameraMan} cameraMan
   * @param {HTMLElement} tooltip
   */
  constructor(stage, robot, patches, cameraMan, tooltip) {
    Object.assign(this, { stage, robot, patches, cameraMan, tooltip });
    this._raycaster = new Raycaster();
    this._at = null;
    this._unit = ["kPa", 1e3];
    this._due = false;
    const { canvas } = stage;
    canvas.addEventListener("pointermove", (event) => this._moved(event));
    canvas.addEventListener("pointerdown", () => this._leave());
    canvas.addEventListener("pointerleave", () => this._leave());
    canvas.addEventListener("dblclick", (event) => this._focus(event));
    stage.afterDrawing.push(() => this._look());
  }

  /** @param {import("./protocol.js").Scene["scale"]} scale */
  setScale({ unit }) {
    this._unit = unit;
  }

  _moved(event) {
    if (event.buttons || event.pointerType === "touch") return;
    this._at = { x: event.offsetX, y: event.offsetY };
    if (this._due) return;
    this._due = true;
    requestAnimationFrame(() => {
      this._due = false;
      this._look();
    });
  }

  _leave() {
    this._at = null;
    this.tooltip.hidden = true;
  }

  _look() {
    if (!this._at) return;
    const found = this._patchAt(this._at.x, this._at.y);
    this.tooltip.hidden = !found;
    if (!found) return;
    const { patch, pressure } = found;
    const force = Math.hypot(...patch.force);
    this.tooltip.replaceChildren(
      line("strong", `${threeDigits(pressure / this._unit[1])} ${this._unit[0]}`),
      line("span", `${patch.a} on ${patch.b}, ${patch.law}`),
      line("span", `${threeDigits(force)} N over ${threeDigits(1e4 * patch.area)} cm²`),
      ...(patch.problem ? [line("em", patch.problem)] : []),
    );
    this.tooltip.dataset.pressure = pressure;
    const { clientWidth, clientHeight } = this.stage.canvas;
    const { offsetWidth, offsetHeight } = this.tooltip;
    this.tooltip.style.left = `${Math.min(this._at.x + 14, clientWidth - offsetWidth - 8)}px`;
    this.tooltip.style.top = `${Math.min(this._at.y + 14, clientHeight - offsetHeight - 8)}px`;
  }

  _focus({ offsetX, offsetY }) {
    const found = this._patchAt(offsetX, offsetY);
    if (found) {
      this.cameraMan.lookAt(contactPoints([found.patch]));
      return;
    }
    const [hit] = this._raycaster.intersectObjects(this.robot.bodies, false);
    if (hit) this.cameraMan.lookAt(this.robot.corners(new Set([hit.object.userData.link])));
  }

  /** The patch at a point of the canvas, unless a solid body hides it. */
  _patchAt(x, y) {
    const { clientWidth, clientHeight } = this.stage.canvas;
    const at = new Vector2((2 * x) / clientWidth - 1, 1 - (2 * y) / clientHeight);
    this._raycaster.setFromCamera(at, this.stage.camera);
    const found = this.patches.pick(this._raycaster);
    if (!found) return null;
    const [hit] = this._raycaster.intersectObjects(this.robot.hiding(found.patch), false);
    return hit && hit.distance < found.distance ? null : found;
  }
}

function line(tag, text) {
  const element = document.createElement(tag);
  element.textContent = text;
  return element;
}
