// Equivalent contact points, and the hulls of their patches, which may be lines or points and then have no faces to see.

import {
  BufferAttribute,
  BufferGeometry,
  Color,
  DynamicDrawUsage,
  GreaterDepth,
  InstancedBufferAttribute,
  InstancedBufferGeometry,
  LessEqualDepth,
  Mesh,
  Points,
  ShaderMaterial,
  Vector2,
} from "./vendor/three/three.module.min.js";
import { EQUIVALENT_POINT } from "./laws.js";

const LINES_AFTER_ARROWS = 4; // which end at the points
const DOTS_AFTER_LINES = 5;
const SMALLEST = 16; // initial number of points and of lines
const HIDDEN = 0.4; // opacity behind bodies
const DOT = 13; // px, with its rim
const LINE = 3; // px
/** How much nearer than it is something is drawn, in widths of its own: the bodies that touch there would cover half of it. */
const RAISED = 3;
/** Vertex of a screen-wide mark, moved towards the camera along its line of sight. */
const RAISE = `
  uniform vec2 size;
  vec4 raised(vec4 view, float pixels) {
    vec4 at = projectionMatrix * view;
    float nearer = pixels * at.w * 2.0 / (size.y * projectionMatrix[1][1]);
    vec4 near = projectionMatrix * (view + vec4(0.0, 0.0, min(nearer, -0.5 * view.z), 0.0));
    return vec4(at.xy / at.w, near.z / near.w, 1.0);
  }`;

export class ContactPoints {
  /**
   * @param {import("./stage.js").Stage} stage
   * @param {import("./theme.js").Theme} theme
   */
  constructor(stage, theme) {
    this.stage = stage;
    this._uniforms = { size: { value: new Vector2(1, 1) }, ratio: { value: 1 }, ink: { value: new Color() }, paper: { value: new Color() } };
    this._dots = this._drawn(Points, new BufferGeometry(), dotShaders(), DOTS_AFTER_LINES);
    this._lines = this._drawn(Mesh, new InstancedBufferGeometry(), lineShaders(), LINES_AFTER_ARROWS);
    for (const { geometry } of this._lines) {
      geometry.setAttribute("position", new BufferAttribute(new Float32Array([0, -1, 0, 1, -1, 0, 1, 1, 0, 0, 1, 0]), 3));
      geometry.setIndex([0, 1, 2, 0, 2, 3]);
    }
    this._growDots(SMALLEST);
    this._growLines(SMALLEST);
    const follow = () => {
      for (const [name, colour] of [["ink", "text"], ["paper", "surface"]]) {
        this._uniforms[name].value.setStyle(theme.colour(colour)).convertLinearToSRGB();
      }
    };
    theme.addEventListener("change", follow);
    follow();
    stage.beforeDrawing.push(() => this._fit());
  }

  /** @param {import("./protocol.js").Frame} frame */
  show({ patches, counts }) {
    const points = [];
    const ends = [];
    let face = 0;
    for (const patch of patches) {
      if (patch.law === EQUIVALENT_POINT) {
        points.push(patch.point);
        ends.push(...outline(patch.corners, counts.subarray(face, face + patch.faces)));
      }
      face += patch.faces;
    }
    if (points.length > this._dotCapacity) this._growDots(points.length);
    if (ends.length > this._lineCapacity) this._growLines(ends.length);
    this._place.array.set(points.flat());
    ends.forEach(([from, to], i) => {
      this._from.array.set(from, 3 * i);
      this._to.array.set(to, 3 * i);
    });
    for (const attribute of [this._place, this._from, this._to]) attribute.needsUpdate = true;
    this._dots[0].geometry.setDrawRange(0, points.length);
    this._lines[0].geometry.instanceCount = ends.length;
  }

  showDots(visible) {
    for (const drawn of this._dots) drawn.visible = visible;
  }

  showLines(visible) {
    for (const drawn of this._lines) drawn.visible = visible;
  }

  /** What is drawn twice: in front of bodies, and faintly behind them. */
  _drawn(Kind, geometry, shaders, order) {
    return [LessEqualDepth, GreaterDepth].map((depthFunc) => {
      const material = new ShaderMaterial({ ...shaders, transparent: true, depthWrite: false, depthFunc });
      material.uniforms = { ...this._uniforms, opacity: { value: depthFunc === GreaterDepth ? HIDDEN : 1 } };
      const drawn = new Kind(geometry, material);
      drawn.frustumCulled = false;
      drawn.renderOrder = order;
      this.stage.scene.add(drawn);
      return drawn;
    });
  }

  _growDots(needed) {
    this._dotCapacity = 2 ** Math.ceil(Math.log2(needed));
    this._dots[0].geometry.dispose();
    this._place = new BufferAttribute(new Float32Array(3 * this._dotCapacity), 3).setUsage(DynamicDrawUsage);
    this._dots[0].geometry.setAttribute("position", this._place);
  }

  _growLines(needed) {
    this._lineCapacity = 2 ** Math.ceil(Math.log2(needed));
    this._lines[0].geometry.dispose();
    const attribute = () => new InstancedBufferAttribute(new Float32Array(3 * this._lineCapacity), 3).setUsage(DynamicDrawUsage);
    [this._from, this._to] = [attribute(), attribute()];
    this._lines[0].geometry.setAttribute("from", this._from).setAttribute("to", this._to);
  }

  /** Pixels of the canvas. */
  _fit() {
    const { clientWidth, clientHeight } = this.stage.canvas;
    this._uniforms.size.value.set(clientWidth, clientHeight);
    this._uniforms.ratio.value = this.stage.renderer.getPixelRatio();
  }
}

/**
 * Ends of the edges that only one face has; of a line, which is a face of two corners, one.
 * @param {Float32Array} corners
 * @param {Uint8Array} counts Corners of every face.
 * @returns {[Float32Array, Float32Array][]}
 */
function outline(corners, counts) {
  const edges = new Map();
  let first = 0;
  for (const count of counts) {
    const corner = (i) => corners.subarray(3 * (first + (i % count)), 3 * (first + (i % count)) + 3);
    for (let i = 0; i < (count > 2 ? count : count - 1); i += 1) {
      const ends = [corner(i), corner(i + 1)];
      const key = ends.map((end) => end.join()).sort().join(" ");
      if (!edges.delete(key)) edges.set(key, ends);
    }
    first += count;
  }
  return [...edges.values()];
}

/** Discs with a rim. */
function dotShaders() {
  return {
    vertexShader: `
      uniform float ratio;
      ${RAISE}
      void main() {
        gl_Position = raised(modelViewMatrix * vec4(position, 1.0), float(${RAISED * DOT}));
        gl_PointSize = float(${DOT}) * ratio;
      }`,
    fragmentShader: `
      uniform vec3 ink, paper;
      uniform float opacity, ratio;
      void main() {
        float r = length(gl_PointCoord - 0.5) * float(${DOT});
        float soft = 0.5 / ratio;
        float inside = 1.0 - smoothstep(float(${DOT / 2}) - 2.0 * soft, float(${DOT / 2}), r);
        vec3 colour = mix(paper, ink, smoothstep(3.4 - soft, 3.4 + soft, r));
        gl_FragColor = vec4(colour, opacity * inside);
      }`,
  };
}

/** Lines as wide as they are seen from anywhere: rectangles, whose corners are along x and across y. */
function lineShaders() {
  return {
    vertexShader: `
      attribute vec3 from, to;
      ${RAISE}
      void main() {
        vec4 a = modelViewMatrix * vec4(from, 1.0);
        vec4 b = modelViewMatrix * vec4(to, 1.0);
        // What is behind the camera has no place on the screen.
        if (a.z > -1e-4) a = mix(a, b, (a.z + 1e-4) / (a.z - b.z));
        if (b.z > -1e-4) b = mix(b, a, (b.z + 1e-4) / (b.z - a.z));
        vec4 p = raised(a, float(${RAISED * LINE}));
        vec4 q = raised(b, float(${RAISED * LINE}));
        vec2 along = (q.xy - p.xy) * size;
        along = length(along) > 0.0 ? normalize(along) : vec2(1.0, 0.0);
        gl_Position = mix(p, q, position.x);
        gl_Position.xy += position.y * float(${LINE}) * vec2(-along.y, along.x) / size;
      }`,
    fragmentShader: `
      uniform vec3 ink;
      uniform float opacity;
      void main() {
        gl_FragColor = vec4(ink, opacity);
      }`,
  };
}
