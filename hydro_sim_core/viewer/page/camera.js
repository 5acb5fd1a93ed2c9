// Where the scene is looked at from: orbiting by hand, named views, and flights to what was double-clicked.

import { MathUtils, Vector3 } from "./vendor/three/three.module.min.js";
import { OrbitControls } from "./vendor/three/OrbitControls.js";

const FLIGHT = 450; // ms
const ROOM = 0.98; // how much wider the view is than what it shows

/** Directions from what is looked at to the camera, world; that of "contact" depends on the contact. */
const VIEWS = {
  iso: [0.62, -0.72, 0.36],
  front: [1, 0, 0],
  side: [0, -1, 0],
  top: [0, -0.0001, 1],
};

export const VIEW_NAMES = [...Object.keys(VIEWS), "contact"];

export class CameraMan {
  /** @param {import("./stage.js").Stage} stage */
  constructor(stage) {
    this.stage = stage;
    this.controls = new OrbitControls(stage.camera, stage.canvas);
    this.controls.enableDamping = true;
    this.controls.dampingFactor = 0.15;
    this.controls.zoomToCursor = true;
    this.controls.addEventListener("change", () => stage.invalidate());
    this.controls.addEventListener("start", () => (this._flight = null));
    this._flight = null;
    stage.beforeDrawing.push(() => this._move());
  }

  /**
   * Look at a sphere from a named view.
   * @param {string} view
   * @param {{centre: Vector3, radius: number}} sphere
   * @param {Vector3|null} direction For "contact".
   */
  show(view, sphere, direction, atOnce = false) {
    this.lookAt(sphere, direction ?? new Vector3(...(VIEWS[view] ?? VIEWS.iso)), atOnce);
  }

  /** Look at a sphere; from where the camera is now, unless told otherwise. */
  lookAt({ centre, radius }, direction = null, atOnce = false) {
    const camera = this.stage.camera;
    const away = (direction ?? camera.position.clone().sub(this.controls.target)).clone().normalize();
    const half = MathUtils.degToRad(camera.fov / 2);
    const narrow = Math.atan(Math.tan(half) * Math.min(1, camera.aspect));
    const distance = (ROOM * radius) / Math.sin(narrow);
    const position = centre.clone().addScaledVector(away, distance);
    if (atOnce || matchMedia("(prefers-reduced-motion: reduce)").matches) {
      this._flight = null;
      this._place(position, centre);
    } else {
      this._flight = {
        began: performance.now(),
        from: [camera.position.clone(), this.controls.target.clone()],
        to: [position, centre.clone()],
      };
    }
    this.stage.invalidate();
  }

  _place(position, target) {
    this.stage.camera.position.copy(position);
    this.controls.target.copy(target);
    this.controls.update();
  }

  _move() {
    if (!this._flight) {
      this.controls.update();
      return;
    }
    const { began, from, to } = this._flight;
    const fraction = Math.min(1, (performance.now() - began) / FLIGHT);
    const eased = MathUtils.smootherstep(fraction, 0, 1);
    this._place(from[0].clone().lerp(to[0], eased), from[1].clone().lerp(to[1], eased));
    if (fraction >= 1) this._flight = null;
    this.stage.invalidate();
  }
}
