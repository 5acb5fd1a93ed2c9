// The camera: orbiting by hand, named views, and flights to double-clicked objects.

import { MathUtils, Vector3 } from "./vendor/three/three.module.min.js";
import { OrbitControls } from "./vendor/three/OrbitControls.js";

const FLIGHT = 450; // ms
const NOTHING = 0.5; // m, radius of the view of an empty scene
const ROOM = 1.12; // size of the view relative to its objects

/** Directions in the world from the target to the camera; that of "contact" depends on the contact. */
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
   * Show points from a named view.
   * @param {string} view
   * @param {Vector3[]} points
   */
  show(view, points, atOnce = false) {
    this.lookAt(points, new Vector3(...(VIEWS[view] ?? VIEWS.iso)), atOnce);
  }

  /** Move the camera so that all points fill the view; by default along its present direction. */
  lookAt(points, direction = null, atOnce = false) {
    if (!points.length) return this.lookAt(around(new Vector3(), NOTHING), direction, atOnce);
    const camera = this.stage.camera;
    const away = (direction ?? camera.position.clone().sub(this.controls.target)).clone().normalize();
    const { target, distance } = fit(points, away, camera);
    const position = target.clone().addScaledVector(away, distance);
    if (atOnce || matchMedia("(prefers-reduced-motion: reduce)").matches) {
      this._flight = null;
      this._place(position, target);
    } else {
      this._flight = {
        began: performance.now(),
        from: [camera.position.clone(), this.controls.target.clone()],
        to: [position, target],
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

/** Target and distance of the camera at which all points are in view; the target is the centre of their extent. */
function fit(points, away, camera) {
  const right = camera.up.clone().cross(away).normalize();
  const up = away.clone().cross(right);
  const target = new Vector3();
  for (const axis of [right, up, away]) {
    const places = points.map((point) => point.dot(axis));
    target.addScaledVector(axis, (Math.min(...places) + Math.max(...places)) / 2);
  }
  const tangent = Math.tan(MathUtils.degToRad(camera.fov / 2)) / ROOM;
  const distances = points.map((point) => {
    const offset = point.clone().sub(target);
    const across = Math.max(Math.abs(offset.dot(right)) / camera.aspect, Math.abs(offset.dot(up)));
    return offset.dot(away) + across / tangent;
  });
  return { target, distance: Math.max(...distances) };
}

/** Points that represent a sphere. */
export function around(centre, radius) {
  return [0, 1, 2].flatMap((axis) => [-radius, radius].map((x) => centre.clone().setComponent(axis, centre.getComponent(axis) + x)));
}
