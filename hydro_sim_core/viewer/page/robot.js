// Bodies: meshes on the frames of links.

import {
  AxesHelper,
  Box3,
  BufferAttribute,
  BufferGeometry,
  EdgesGeometry,
  Group,
  LineBasicMaterial,
  LineSegments,
  Matrix4,
  Mesh,
  Vector3,
} from "./vendor/three/three.module.min.js";
import { BodyMaterial } from "./body_material.js";
import { BodyShadow } from "./body_shadow.js";
import { median } from "./median.js";
import { decodeMesh } from "./protocol.js";
import { SoftShadow } from "./shadow.js";
import { besideWindows, withinWindows } from "./windows.js";

const AXIS = 0.06; // m
const AXIS_COLOURS = ["#e5484d", "#30a46c", "#3b82f6"]; // x, y, z
const CREASE = 32; // degrees; edges with larger angles are drawn
const MOST_EDGE_TRIANGLES = 20000; // no edges on finer meshes, such as scans, where they are only noise
const AFTER_PATCHES = 2.5;
const FAR_AWAY = 8; // times the median distance from the centre
const SMALL_SCENE = 2; // m; nearer bodies are never far away

export class Robot {
  /**
   * @param {import("./stage.js").Stage} stage
   * @param {import("./theme.js").Theme} theme
   */
  constructor(stage, theme) {
    this.stage = stage;
    this.group = new Group();
    stage.scene.add(this.group);
    /** @type {Map<string, Promise<BufferGeometry>>} */
    this._geometries = new Map();
    this._links = [];
    this.mode = "contact";
    this.shadow = new SoftShadow(stage, theme);
    if (!stage.software) new BodyShadow(stage, this.shadow);
    this._edges = new LineBasicMaterial({ transparent: true, depthWrite: false });
    besideWindows(this._edges);
    // Faces keep their colours behind a body; its edges are drawn over them in another colour.
    this._edgesOverPatches = new LineBasicMaterial({ color: "#ffffff", opacity: 0.5, transparent: true, depthWrite: false });
    withinWindows(this._edgesOverPatches);
    const follow = () => {
      this._edges.color.set(theme.colour("edge"));
      this._edges.opacity = theme.name === "dark" ? 0.5 : 0.32;
    };
    theme.addEventListener("change", follow);
    follow();
  }

  /**
   * Build the bodies of a scene; resolves when all meshes are loaded.
   * @param {import("./protocol.js").Scene} scene
   */
  async load(scene) {
    const geometries = await Promise.all(scene.visuals.map(({ mesh }) => this._geometry(mesh)));
    this._dispose();
    this._links = scene.links.map((name) => this._makeLink(name));
    scene.visuals.forEach((visual, i) => this._addBody(visual, geometries[i]));
  }

  /**
   * @param {import("./protocol.js").Frame} frame
   * @param {Map<string, number>} bits Bits of windows, by the name of the body in contact.
   */
  show(frame, bits) {
    this._links.forEach((link, i) => {
      const at = 7 * i;
      link.group.position.fromArray(frame.poses, at);
      link.group.quaternion.fromArray(frame.poses, at + 3);
    });
    for (const link of this._links) {
      link.bit = bits.get(link.name) ?? 0;
      this._openWindow(link);
    }
  }

  /** @param {"contact"|"solid"|"clear"} mode Open at their contacts, opaque, or transparent. */
  setMode(mode) {
    this.mode = mode;
    for (const link of this._links) {
      this._openWindow(link);
    }
    this.stage.invalidate();
  }

  showFrames(visible) {
    for (const link of this._links) link.axes.visible = visible;
    this.stage.invalidate();
  }

  /** Names of bodies at their middles, those in contact first. */
  bodyLabels() {
    const drawn = this._links.filter(({ bodies }) => bodies.length).sort((p, q) => Number(q.bit > 0) - Number(p.bit > 0));
    return drawn.map(({ name }) => ({ text: name, point: middle(this.corners(new Set([name]))) }));
  }

  /** Names of frames at their origins. */
  frameLabels() {
    return this._links.map(({ name, group }) => ({ text: name, point: group.position }));
  }

  /** Meshes through which a patch is not seen. @param {import("./protocol.js").Patch} patch */
  hiding({ a, b }) {
    if (this.mode === "clear") return [];
    return this._links.flatMap(({ name, bodies }) => (this.mode === "contact" && (name === a || name === b) ? [] : bodies));
  }

  /** A place in the world, in the frame of a link. @param {string} name @param {Vector3} place */
  inLink(name, place) {
    return this._group(name).worldToLocal(place.clone());
  }

  /** A point of a link's frame, in the world. @param {string} name @param {Vector3} point */
  inWorld(name, point) {
    return this._group(name).localToWorld(point.clone());
  }

  _group(name) {
    const { group } = this._links.find((link) => link.name === name);
    group.updateWorldMatrix(true, false);
    return group;
  }

  get bodies() {
    return this._links.flatMap((link) => link.bodies);
  }

  /**
   * Corners of the bounding boxes of the bodies of named links; without names, of all bodies except far outliers.
   * @param {Set<string>|null} names
   * @returns {Vector3[]}
   */
  corners(names = null) {
    this.group.updateMatrixWorld(true);
    const wanted = this._links.filter((link) => names?.has(link.name)).flatMap((link) => link.bodies);
    return (wanted.length ? wanted : withoutStrays(this.bodies)).flatMap(({ geometry, matrixWorld }) => {
      const { min, max } = geometry.boundingBox;
      const ends = (axis) => [min[axis], max[axis]];
      const corners = ends("x").flatMap((x) => ends("y").flatMap((y) => ends("z").map((z) => new Vector3(x, y, z))));
      return corners.map((corner) => corner.applyMatrix4(matrixWorld));
    });
  }

  _geometry(url) {
    if (!this._geometries.has(url)) {
      const geometry = fetchGeometry(url);
      geometry.catch(() => this._geometries.delete(url)); // fetched again with the next scene
      this._geometries.set(url, geometry);
    }
    return this._geometries.get(url);
  }

  _dispose() {
    for (const link of this._links) {
      link.axes.dispose();
      for (const body of link.bodies) {
        body.material.dispose();
        for (const child of body.children) if (child.isLineSegments) child.geometry.dispose();
      }
    }
    this.group.clear();
    this.shadow.clear();
  }

  _makeLink(name) {
    const group = new Group();
    const axes = new AxesHelper(AXIS);
    axes.setColors(...AXIS_COLOURS);
    axes.material.depthTest = false;
    axes.renderOrder = 4;
    axes.visible = false;
    group.add(axes);
    this.group.add(group);
    return { name, group, axes, bodies: [], bit: 0 };
  }

  _addBody({ link: index, X_LV, rgba, gloss }, geometry) {
    const link = this._links[index];
    const body = new Mesh(geometry, new BodyMaterial(rgba, gloss, this.stage.software));
    body.applyMatrix4(new Matrix4().set(...X_LV));
    body.userData.link = link.name;
    if (geometry.index.count < 3 * MOST_EDGE_TRIANGLES) {
      const lines = new EdgesGeometry(geometry, CREASE);
      const overPatches = new LineSegments(lines, this._edgesOverPatches);
      overPatches.renderOrder = AFTER_PATCHES;
      body.add(new LineSegments(lines, this._edges), overPatches);
    }
    body.add(this.shadow.caster(geometry));
    link.bodies.push(body);
    link.group.add(body);
    this._openWindow(link);
  }

  _openWindow({ bodies, bit }) {
    const open = this.mode === "contact" && bit !== 0;
    for (const body of bodies) {
      body.material.setLook(this.mode === "clear" ? "clear" : open ? "faded" : "solid", bit);
      body.renderOrder = body.material.transparent ? 1 : 0;
    }
  }
}

/** The bodies without far outliers, such as one that has been falling for a minute. */
function withoutStrays(bodies) {
  if (!bodies.length) return [];
  const centres = bodies.map(({ geometry, matrixWorld }) => geometry.boundingSphere.center.clone().applyMatrix4(matrixWorld));
  const middle = new Vector3(...["x", "y", "z"].map((axis) => median(centres.map((centre) => centre[axis]))));
  const distances = centres.map((centre, i) => Math.max(0, centre.distanceTo(middle) - bodies[i].geometry.boundingSphere.radius));
  const far = Math.max(FAR_AWAY * median(distances), SMALL_SCENE);
  return bodies.filter((_, i) => distances[i] <= far);
}

function middle(points) {
  return new Box3().setFromPoints(points).getCenter(new Vector3());
}

async function fetchGeometry(url) {
  const response = await fetch(url);
  if (!response.ok) throw new Error(`${url}: ${response.status}`);
  const { positions, normals, indices } = decodeMesh(await response.arrayBuffer());
  const geometry = new BufferGeometry();
  geometry.setAttribute("position", new BufferAttribute(positions, 3));
  geometry.setAttribute("normal", new BufferAttribute(normals, 3));
  geometry.setIndex(new BufferAttribute(indices, 1));
  geometry.computeBoundingSphere();
  geometry.computeBoundingBox();
  return geometry;
}
