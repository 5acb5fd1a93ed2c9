// Arrows of contact wrenches: the force on B at the centre of pressure, and the moment about it.

import {
  ConeGeometry,
  CylinderGeometry,
  DynamicDrawUsage,
  GreaterDepth,
  InstancedMesh,
  Matrix4,
  MeshBasicMaterial,
  Quaternion,
  Vector3,
} from "./vendor/three/three.module.min.js";
import { threeDigits } from "./elements.js";
import { besideWindows } from "./windows.js";

const AFTER_PATCHES = 3;
const HIDDEN = 0.65; // opacity
const SMALLEST = 16; // initial number of arrows
const LONGEST = 0.2; // m
const LENGTHS = [1, 2, 5].flatMap((digit) => [-2, -1, 0, 1, 2, 3, 4, 5, 6].map((power) => digit * 10 ** power)).sort((x, y) => x - y);
const HEAD = 0.012; // m
const THICKNESS = 0.0018; // m
const MOST_LABELS = 8;
const LEAST_SHARE = 0.05; // of the largest force; smaller ones have no label
const UP = new Vector3(0, 1, 0); // three.js's cylinders point along y

export class Arrows {
  /**
   * @param {import("./stage.js").Stage} stage
   * @param {import("./theme.js").Theme} theme
   */
  constructor(stage, theme) {
    this.stage = stage;
    this.visible = true;
    this.force = new ArrowSet(stage, { heads: 1, endsAtPoint: true });
    this.moment = new ArrowSet(stage, { heads: 2, endsAtPoint: false });
    const follow = () => {
      this.force.setColour(theme.colour("force"));
      this.moment.setColour(theme.colour("moment"));
    };
    theme.addEventListener("change", follow);
    follow();
    this.forget();
  }

  /** Reset to the smallest unit, for another scene. */
  forget() {
    this.unit = { force: 10, moment: 0.1 }; // N and N m of an arrow of 5 cm
  }

  /** @param {import("./protocol.js").Frame} frame */
  show({ patches }) {
    this._fit(patches);
    this.force.show(patches.map(({ point, force }) => ({ point, vector: force })), 0.05 / this.unit.force);
    this.moment.show(patches.map(({ point, moment }) => ({ point, vector: moment })), 0.05 / this.unit.moment);
  }

  /**
   * Labels with the largest forces, at the ends of their arrows; ``≈`` before those that should not be trusted.
   * @param {import("./protocol.js").Frame} frame
   */
  forceLabels({ patches }) {
    const sized = patches.map(({ point, force, problem }) => ({ point, force, problem, size: Math.hypot(...force) }));
    const forces = sized.sort((p, q) => q.size - p.size);
    const shown = forces.filter(({ size }, i) => i < MOST_LABELS && size > 0 && size >= LEAST_SHARE * forces[0].size);
    return shown.map(({ point, force, problem, size }) => {
      const tip = new Vector3(...point);
      const tail = tip.clone().addScaledVector(new Vector3(...force), -0.05 / this.unit.force);
      return { text: `${problem ? "≈ " : ""}${threeDigits(size)} N`, point: tail, from: tip };
    });
  }

  setVisible(visible) {
    this.visible = visible;
    for (const set of [this.force, this.moment]) set.setVisible(visible);
    this.stage.invalidate();
  }

  /** One unit for all arrows, which only grows, so that a length stands for the same force as long as possible. */
  _fit(patches) {
    for (const quantity of ["force", "moment"]) {
      const largest = Math.max(0, ...patches.map((patch) => Math.hypot(...patch[quantity])));
      const needed = (largest * 0.05) / LONGEST;
      if (needed > this.unit[quantity]) this.unit[quantity] = LENGTHS.find((unit) => unit >= needed) ?? needed;
    }
  }
}

class ArrowSet {
  constructor(stage, { heads, endsAtPoint }) {
    Object.assign(this, { stage, heads, endsAtPoint });
    this.material = new MeshBasicMaterial({ transparent: true }); // drawn in the order of the patches
    // What is inside or behind bodies is drawn faintly.
    this.hidden = new MeshBasicMaterial({ transparent: true, opacity: HIDDEN, depthFunc: GreaterDepth, depthWrite: false });
    besideWindows(this.hidden);
    this._shafts = this._cones = null;
    this._grow(SMALLEST);
  }

  setColour(colour) {
    for (const material of [this.material, this.hidden]) material.color.set(colour);
  }

  setVisible(visible) {
    this._shafts.visible = this._cones.visible = visible;
  }

  /**
   * @param {{point: number[], vector: number[]}[]} arrows
   * @param {number} scale m a unit of the vectors.
   */
  show(arrows, scale) {
    if (arrows.length > this._capacity) this._grow(arrows.length);
    let [shafts, cones] = [0, 0];
    for (const { point, vector } of arrows) {
      const direction = new Vector3(...vector);
      const length = scale * direction.length();
      if (!(length > 1e-4)) continue;
      direction.normalize();
      const head = Math.min(HEAD, 0.5 * length);
      const turn = new Quaternion().setFromUnitVectors(UP, direction);
      const from = new Vector3(...point);
      if (this.endsAtPoint) from.addScaledVector(direction, -length);
      const along = (distance) => from.clone().addScaledVector(direction, distance);
      const shaft = length - head;
      const width = head / HEAD;
      const place = (distance, size) => new Matrix4().compose(along(distance), turn, size);
      this._shafts.setMatrixAt(shafts++, place(shaft / 2, new Vector3(width, shaft, width)));
      for (let i = 0; i < this.heads; i += 1) {
        this._cones.setMatrixAt(cones++, place(length - head * (0.5 + 0.75 * i), new Vector3(width, head, width)));
      }
    }
    for (const [mesh, count] of [[this._shafts, shafts], [this._cones, cones]]) {
      mesh.count = mesh.hidden.count = count;
      mesh.instanceMatrix.needsUpdate = true;
    }
  }

  _grow(needed) {
    this._capacity = 2 ** Math.ceil(Math.log2(needed));
    const visible = this._shafts?.visible ?? true;
    for (const mesh of [this._shafts, this._cones]) {
      if (!mesh) continue;
      this.stage.scene.remove(mesh);
      mesh.geometry.dispose();
      mesh.hidden.dispose();
      mesh.dispose();
    }
    this._shafts = this._instances(new CylinderGeometry(THICKNESS / 2, THICKNESS / 2, 1, 12), this._capacity);
    this._cones = this._instances(new ConeGeometry(2 * THICKNESS, 1, 18), this.heads * this._capacity);
    this.setVisible(visible);
  }

  _instances(geometry, count) {
    const mesh = new InstancedMesh(geometry, this.material, count);
    mesh.instanceMatrix.setUsage(DynamicDrawUsage);
    mesh.hidden = new InstancedMesh(geometry, this.hidden, count);
    mesh.hidden.instanceMatrix = mesh.instanceMatrix;
    mesh.add(mesh.hidden);
    for (const drawn of [mesh, mesh.hidden]) {
      drawn.frustumCulled = false;
      drawn.renderOrder = AFTER_PATCHES;
      drawn.count = 0;
    }
    this.stage.scene.add(mesh);
    return mesh;
  }
}
