// Contact patches: faces coloured by pressure, their edges, and picking by the pointer.

import {
  BufferAttribute,
  BufferGeometry,
  Color,
  DataTexture,
  DoubleSide,
  DynamicDrawUsage,
  LineSegments,
  Mesh,
  NearestFilter,
  ShaderMaterial,
  Sphere,
  Vector3,
} from "./vendor/three/three.module.min.js";
import { EQUIVALENT_POINT } from "./laws.js";
import { markWindow, windowBits } from "./windows.js";

const SMALLEST = 1024; // initial number of vertices
const BEFORE_BODIES = -1; // which are not drawn over them, so that nothing tints the colours
const AFTER_BODIES = 2;
const EDGE_STRENGTH = 0.55;
const FAINTEST_EDGE = 3; // px: edges of smaller faces would cover the colours and are left out
const STRONGEST_EDGE = 14; // px

export class Patches {
  /** @param {import("./stage.js").Stage} stage */
  constructor(stage) {
    this.stage = stage;
    /** @type {import("./protocol.js").Frame|null} */
    this.frame = null;
    /** Bits of the bodies in contact. @type {Map<string, number>} */
    this.bits = new Map();
    this._capacity = 0;
    this._geometry = new BufferGeometry();
    this._edgeGeometry = new BufferGeometry();
    this._geometry.boundingSphere = new Sphere(new Vector3(), Infinity); // never culled, always tested by rays
    /** Materials that mark windows by the bits that they mark; all share their colours. @type {Map<number, ShaderMaterial>} */
    this._materials = new Map();
    this._uniforms = { colours: { value: null }, maximum: { value: 1 } };
    this._faces = new Mesh(this._geometry, []);
    this._edges = new LineSegments(this._edgeGeometry, edgeMaterial());
    this._faces.renderOrder = BEFORE_BODIES;
    this._edges.renderOrder = AFTER_BODIES;
    for (const drawn of [this._faces, this._edges]) {
      drawn.frustumCulled = false;
      stage.scene.add(drawn);
    }
    this._grow(SMALLEST);
    /** Cumulative number of triangles up to each patch, inclusive. @type {number[]} */
    this._triangleEnds = [];
    stage.beforeDrawing.push(() => this._fadeEdges());
  }

  /** @param {import("./protocol.js").Scene["scale"]} scale */
  setScale(scale) {
    const { colours, maximum } = this._uniforms;
    colours.value?.dispose();
    const texels = new Uint8Array(scale.colours.flatMap(([r, g, b]) => [r, g, b, 255]));
    colours.value = new DataTexture(texels, scale.colours.length, 1);
    colours.value.magFilter = colours.value.minFilter = NearestFilter;
    colours.value.needsUpdate = true;
    maximum.value = scale.maximum;
    this.stage.invalidate();
  }

  /** @param {import("./protocol.js").Frame} frame */
  show(frame) {
    this.frame = frame;
    const vertexCount = frame.pressures.length;
    if (vertexCount > this._capacity) this._grow(vertexCount);
    this._position.array.set(frame.vertices);
    this._pressure.array.set(frame.pressures);
    this._markProblems(frame);
    const [corners, ends] = this._connect(frame);
    upload(this._position, 3 * vertexCount);
    upload(this._pressure, vertexCount);
    upload(this._problem, vertexCount);
    upload(this._geometry.index, corners);
    upload(this._edgeGeometry.index, ends);
    this._group(frame.patches);
    this._geometry.setDrawRange(0, corners);
    this._edgeGeometry.setDrawRange(0, ends);
  }

  showFaces(visible) {
    this._faces.visible = visible;
    this.stage.invalidate();
  }

  showEdges(visible) {
    this._edges.visible = visible;
    this.stage.invalidate();
  }

  /**
   * The patch and the pressure that a ray meets first.
   * @param {import("./vendor/three/three.module.min.js").Raycaster} raycaster
   * @returns {{patch: import("./protocol.js").Patch, pressure: number, distance: number}|null}
   */
  pick(raycaster) {
    if (!this.frame?.counts.length || !this._faces.visible) return null;
    const [hit] = raycaster.intersectObject(this._faces);
    if (!hit) return null;
    const patch = this.frame.patches[this._triangleEnds.findIndex((end) => hit.faceIndex < end)];
    return { patch, pressure: this._pressureAt(hit), distance: hit.distance };
  }

  _pressureAt({ face, point }) {
    const corner = (i) => new Vector3().fromBufferAttribute(this._position, i);
    const [a, b, c] = [face.a, face.b, face.c].map(corner);
    const normal = b.clone().sub(a).cross(c.clone().sub(a));
    const share = (p, q) => p.clone().sub(point).cross(q.clone().sub(point)).dot(normal) / normal.lengthSq();
    const pressure = (i) => this._pressure.getX(i);
    return share(b, c) * pressure(face.a) + share(c, a) * pressure(face.b) + share(a, b) * pressure(face.c);
  }

  /** Write the indices of the fans that fill the faces, and of the lines around them. */
  _connect({ counts, patches }) {
    const corners = this._geometry.index.array;
    const ends = this._edgeGeometry.index.array;
    let [first, corner, end, face] = [0, 0, 0, 0];
    this._triangleEnds = patches.map((patch) => {
      const hasEdges = patch.law !== EQUIVALENT_POINT; // whose faces only fill an outline, which is drawn apart
      for (const stop = face + patch.faces; face < stop; face += 1) {
        const count = counts[face];
        for (let i = 0; i < count; i += 1) {
          if (hasEdges) {
            ends[end++] = first + i;
            ends[end++] = first + ((i + 1) % count);
          }
          if (i < 2) continue;
          corners[corner++] = first;
          corners[corner++] = first + i - 1;
          corners[corner++] = first + i;
        }
        first += count;
      }
      return corner / 3;
    });
    return [corner, end];
  }

  /** Draw successive patches that mark the same bits at once. */
  _group(patches) {
    this._geometry.clearGroups();
    this.bits = windowBits(patches);
    const materials = [];
    let begin = 0;
    patches.forEach(({ a, b }, i) => {
      const bits = this.bits.get(a) | this.bits.get(b);
      const end = 3 * this._triangleEnds[i];
      const last = this._geometry.groups.at(-1);
      if (last && materials.at(-1) === this._material(bits)) {
        last.count += end - begin;
      } else {
        this._geometry.addGroup(begin, end - begin, materials.length);
        materials.push(this._material(bits));
      }
      begin = end;
    });
    this._faces.material = materials;
  }

  _material(bits) {
    if (!this._materials.has(bits)) this._materials.set(bits, faceMaterial(this._uniforms, bits));
    return this._materials.get(bits);
  }

  _markProblems({ patches }) {
    let first = 0;
    for (const { vertices, problem } of patches) {
      this._problem.array.fill(problem ? 1 : 0, first, first + vertices);
      first += vertices;
    }
  }

  _grow(needed) {
    this._capacity = Math.max(SMALLEST, 2 ** Math.ceil(Math.log2(needed)));
    this._geometry.dispose();
    this._edgeGeometry.dispose();
    const attribute = (array, size) => new BufferAttribute(array, size).setUsage(DynamicDrawUsage);
    this._position = attribute(new Float32Array(3 * this._capacity), 3);
    this._pressure = attribute(new Float32Array(this._capacity), 1);
    this._problem = attribute(new Float32Array(this._capacity), 1);
    // A polygon of n corners has n - 2 triangles and n edges.
    this._geometry.setIndex(attribute(new Uint32Array(3 * this._capacity), 1));
    this._edgeGeometry.setIndex(attribute(new Uint32Array(2 * this._capacity), 1));
    this._geometry.setAttribute("position", this._position).setAttribute("pressure", this._pressure);
    this._edgeGeometry.setAttribute("position", this._position).setAttribute("problem", this._problem);
  }

  _fadeEdges() {
    const { patches, counts } = this.frame ?? { patches: [], counts: [] };
    const area = patches.reduce((sum, patch) => sum + patch.area, 0);
    if (!area) return;
    const camera = this.stage.camera;
    const distance = camera.position.distanceTo(new Vector3(...patches[0].point));
    const pixels = this.stage.canvas.clientHeight / (2 * distance * Math.tan((camera.fov * Math.PI) / 360));
    const width = pixels * Math.sqrt(area / counts.length);
    const fraction = Math.min(1, Math.max(0, (width - FAINTEST_EDGE) / (STRONGEST_EDGE - FAINTEST_EDGE)));
    this._edges.material.uniforms.strength.value = EDGE_STRENGTH * fraction;
  }
}

function upload(attribute, length) {
  attribute.clearUpdateRanges();
  attribute.addUpdateRange(0, length);
  attribute.needsUpdate = true;
}

/** Unlit, without conversion of colours: the screen shows exactly the colours of the scale's table. */
function faceMaterial(uniforms, bits) {
  const material = new ShaderMaterial({
    side: DoubleSide,
    polygonOffset: true,
    polygonOffsetFactor: 1,
    polygonOffsetUnits: 1,
    vertexShader: `
      attribute float pressure;
      varying float value;
      void main() {
        value = pressure;
        gl_Position = projectionMatrix * modelViewMatrix * vec4(position, 1.0);
      }`,
    fragmentShader: `
      uniform sampler2D colours;
      uniform float maximum;
      varying float value;
      void main() {
        gl_FragColor = texture2D(colours, vec2(value / maximum, 0.5));
      }`,
  });
  material.uniforms = uniforms;
  markWindow(material, bits);
  return material;
}

function edgeMaterial() {
  return new ShaderMaterial({
    transparent: true,
    depthWrite: false,
    uniforms: {
      strength: { value: EDGE_STRENGTH },
      plain: { value: new Color(0.03, 0.03, 0.05) },
      warning: { value: new Color(1.0, 0.25, 0.05) },
    },
    vertexShader: `
      attribute float problem;
      varying float warned;
      void main() {
        warned = problem;
        gl_Position = projectionMatrix * modelViewMatrix * vec4(position, 1.0);
      }`,
    fragmentShader: `
      uniform float strength;
      uniform vec3 plain, warning;
      varying float warned;
      void main() {
        gl_FragColor = vec4(mix(plain, warning, warned), strength);
      }`,
  });
}
