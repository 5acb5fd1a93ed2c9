// Springs that pull links: a line from the point that is held to where it is pulled, as wide at any distance.

import {
  CylinderGeometry,
  Group,
  MathUtils,
  Mesh,
  MeshBasicMaterial,
  Quaternion,
  SphereGeometry,
  Vector3,
} from "./vendor/three/three.module.min.js";
import { threeDigits } from "./elements.js";

const WIDTH = 2.5; // px
const POINT = 9; // px, diameter at the link
const END = 13; // px, diameter at the pointer
const OVER_ALL = 5;
const UP = new Vector3(0, 1, 0); // three.js's cylinders point along y

/**
 * @typedef {object} Spring
 * @property {Vector3} point World, m.
 * @property {Vector3} target World, m.
 * @property {number|null} force N; null where it is not known yet.
 */

export class Springs {
  /**
   * @param {import("./stage.js").Stage} stage
   * @param {import("./theme.js").Theme} theme
   * @param {import("./labels.js").Labels} labels
   */
  constructor(stage, theme, labels) {
    Object.assign(this, { stage, labels });
    this._material = new MeshBasicMaterial({ transparent: true, depthTest: false, depthWrite: false });
    this._shapes = { line: new CylinderGeometry(0.5, 0.5, 1, 10), ball: new SphereGeometry(0.5, 20, 14) };
    /** @type {Spring[]} */
    this._springs = [];
    this._drawn = [];
    const follow = () => this._material.color.set(theme.colour("pull"));
    theme.addEventListener("change", follow);
    follow();
    stage.beforeDrawing.push(() => this._place());
    this.show([]); // before labels of other kinds, so that they give way
  }

  /** @param {Spring[]} springs */
  show(springs) {
    this._springs = springs;
    while (this._drawn.length < springs.length) this._drawn.push(this._make());
    this._drawn.forEach(({ group }, i) => (group.visible = i < springs.length));
    const told = springs.filter(({ force }) => force !== null);
    const label = ({ point, target, force }) => ({ text: `${threeDigits(force)} N`, point: target, from: point, room: END / 2 });
    this.labels.show("pull", told.map(label));
    this.stage.invalidate();
  }

  _make() {
    const [group, line] = [new Group(), new Mesh(this._shapes.line, this._material)];
    const [point, end] = [0, 1].map(() => new Mesh(this._shapes.ball, this._material));
    for (const mesh of [line, point, end]) mesh.renderOrder = OVER_ALL;
    group.add(line, point, end);
    this.stage.scene.add(group);
    return { group, line, point, end };
  }

  _place() {
    this._springs.forEach(({ point: from, target: to }, i) => {
      const { line, point, end } = this._drawn[i];
      const along = to.clone().sub(from);
      const middle = from.clone().addScaledVector(along, 0.5);
      const width = WIDTH * this._pixelAt(middle);
      line.position.copy(middle);
      line.scale.set(width, Math.max(along.length(), 1e-6), width);
      line.quaternion.copy(new Quaternion().setFromUnitVectors(UP, along.normalize()));
      point.position.copy(from);
      point.scale.setScalar(POINT * this._pixelAt(from));
      end.position.copy(to);
      end.scale.setScalar(END * this._pixelAt(to));
    });
  }

  /** Size (m) of a pixel of the page at a place in the world. */
  _pixelAt(place) {
    const { camera, canvas } = this.stage;
    const depth = camera.worldToLocal(place.clone()).z;
    return (2 * Math.abs(depth) * Math.tan(MathUtils.degToRad(camera.fov / 2))) / canvas.clientHeight;
  }
}
