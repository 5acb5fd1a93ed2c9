// Soft shadow on the ground. Bodies are drawn from above, moved onto the ground along the light, into a small picture:
// where there is shadow, and how high above it the lowest body is. The picture is blurred, the more the higher, and
// laid on the ground: sharp where things stand, soft below what is far up, as under a lamp that is no point.

import {
  Color,
  CustomBlending,
  DoubleSide,
  Matrix4,
  MaxEquation,
  Mesh,
  OneFactor,
  OrthographicCamera,
  PlaneGeometry,
  Scene,
  ShaderMaterial,
  Vector2,
  Vector3,
  Vector4,
  WebGLRenderTarget,
} from "./vendor/three/three.module.min.js";
import { CASTERS, FARTHEST, KEY_LIGHT, LAMP, SPIRAL } from "./lamps.js";
import { median } from "./median.js";
import { besideWindows } from "./windows.js";

const SIZE = 256; // pixels of an edge of the picture: blurring more takes long without a graphics processor
const BEFORE_GRID = -1.5;

const CAST_VERTEX = `
  uniform vec3 lamp;
  uniform vec4 plane;
  uniform float highest;
  varying float nearness;
  void main() {
    vec4 world = modelMatrix * vec4(position, 1.0);
    float height = max(dot(plane.xyz, world.xyz) + plane.w, 0.0);
    nearness = 1.0 - height / highest;
    world.xyz -= lamp * (height / dot(plane.xyz, lamp));
    gl_Position = projectionMatrix * viewMatrix * world;
  }`;

const FLAT_VERTEX = `
  varying vec2 place;
  void main() {
    place = uv;
    gl_Position = vec4(position.xy, 0.0, 1.0);
  }`;

/** Points of a disc in a golden spiral: mean height of what casts the shadow here, then how much of the lamp it hides. */
const BLUR = `
  uniform sampler2D picture;
  uniform float softest, texel;
  varying vec2 place;
  ${SPIRAL}
  void main() {
    float covered = 0.0, height = 0.0;
    for (int i = 0; i < SEARCHED; i++) {
      vec2 found = texture2D(picture, place + softest * spiral(i, SEARCHED)).rg;
      covered += found.r;
      height += found.r - found.g;
    }
    float radius = covered > 0.0 ? max(softest * height / covered, 1.5 * texel) : texel;
    float hidden = 0.0;
    for (int i = 0; i < BLURRED; i++) hidden += texture2D(picture, place + radius * spiral(i, BLURRED)).r;
    gl_FragColor = vec4(hidden / float(BLURRED));
  }`;

export class SoftShadow {
  /**
   * @param {import("./stage.js").Stage} stage
   * @param {import("./theme.js").Theme} theme
   */
  constructor(stage, theme) {
    this.stage = stage;
    /** What throws shadows. @type {Mesh[]} */
    this.casters = [];
    this._ground = { normal: new Vector3(0, 0, 1), point: new Vector3() };
    this._picture = new WebGLRenderTarget(SIZE, SIZE, { depthBuffer: false });
    this._blurred = new WebGLRenderTarget(SIZE, SIZE, { depthBuffer: false });
    this._above = new OrthographicCamera();
    this._above.layers.set(CASTERS);
    this._castMaterial = castMaterial();
    this._blurMaterial = blurMaterial(this._picture);
    this._flat = new Scene();
    const whole = new Mesh(new PlaneGeometry(2, 2), this._blurMaterial);
    whole.layers.set(CASTERS);
    whole.frustumCulled = false;
    this._flat.add(whole);
    this._shown = new Mesh(new PlaneGeometry(2, 2), groundMaterial(this._blurred));
    this._shown.renderOrder = BEFORE_GRID;
    this._shown.frustumCulled = false;
    this._shown.matrixAutoUpdate = false;
    stage.scene.add(this._shown);
    stage.beforeDrawing.push(() => this._draw());
    const follow = () => this._shown.material.uniforms.colour.value.setStyle(theme.colour("shade"), "");
    theme.addEventListener("change", follow);
    follow();
  }

  /** What casts the shadow of a geometry: to be added to its body. */
  caster(geometry) {
    const caster = new Mesh(geometry, this._castMaterial);
    caster.layers.set(CASTERS);
    caster.frustumCulled = false; // its vertices are not where it is drawn
    this.casters.push(caster);
    return caster;
  }

  /** Forget all casters. */
  clear() {
    this.casters = [];
  }

  /**
   * Set the plane of the ground.
   * @param {Vector3} normal
   * @param {Vector3} point
   */
  fallOn(normal, point) {
    this._ground = { normal, point };
    this._castMaterial.uniforms.plane.value.set(normal.x, normal.y, normal.z, -normal.dot(point));
  }

  _draw() {
    const { normal, point } = this._ground;
    const { scene, renderer } = this.stage;
    this._shown.visible = this.casters.length > 0 && normal.dot(KEY_LIGHT) > 0.1;
    if (!this._shown.visible) return;
    scene.updateMatrixWorld();
    const X_WG = groundFrame(normal, point);
    const { middle, half, highest } = this._extent(X_WG);
    const softest = Math.min(LAMP * highest, 0.25 * half);
    this._castMaterial.uniforms.highest.value = highest;
    this._blurMaterial.uniforms.softest.value = softest / (2 * half);
    const X_WS = X_WG.clone().multiply(new Matrix4().makeTranslation(middle.x, middle.y, 0));
    this._shown.matrix.copy(X_WS).scale(new Vector3(half, half, 1));
    this._lookDown(X_WS, half);
    const { background } = scene;
    scene.background = null; // the picture begins black
    renderer.setRenderTarget(this._picture);
    renderer.render(scene, this._above);
    renderer.setRenderTarget(this._blurred);
    renderer.render(this._flat, this._above);
    renderer.setRenderTarget(null);
    scene.background = background;
  }

  _lookDown(X_WS, half) {
    const camera = this._above;
    Object.assign(camera, { left: -half, right: half, top: half, bottom: -half, near: 0.5, far: 1.5 });
    camera.updateProjectionMatrix();
    X_WS.clone().multiply(new Matrix4().makeTranslation(0, 0, 1)).decompose(camera.position, camera.quaternion, camera.scale);
    camera.updateMatrixWorld();
  }

  /** Middle of all shadows in the plane of the ground, half the edge of the square that holds them, greatest height. */
  _extent(X_WG) {
    const X_GW = X_WG.clone().invert();
    const lamp = KEY_LIGHT.clone().transformDirection(X_GW);
    const boxes = this.casters.map((caster) => shadowBox(caster, X_GW, lamp));
    const middles = ["x", "y"].map((axis) => median(boxes.map(({ low, high }) => 0.5 * (low[axis] + high[axis]))));
    const near = boxes.filter(({ low, high }) => {
      const far = [0.5 * (low.x + high.x) - middles[0], 0.5 * (low.y + high.y) - middles[1]];
      return Math.hypot(...far) < FARTHEST;
    });
    const low = near.reduce((found, box) => found.min(box.low), new Vector2(Infinity, Infinity));
    const high = near.reduce((found, box) => found.max(box.high), new Vector2(-Infinity, -Infinity));
    const highest = Math.max(0.01, ...near.map((box) => box.height));
    const size = Math.max(high.x - low.x, high.y - low.y) + 4 * LAMP * highest;
    // In steps, so that edges do not flicker while something moves.
    const half = 0.5 * 1.1 ** Math.ceil(Math.log(Math.max(size, 0.05)) / Math.log(1.1));
    return { middle: low.add(high).multiplyScalar(0.5), half, highest };
  }
}

/** Axes of the ground, z up from it. */
function groundFrame(normal, point) {
  const x = Math.abs(normal.x) < 0.9 ? new Vector3(1, 0, 0) : new Vector3(0, 1, 0);
  x.addScaledVector(normal, -x.dot(normal)).normalize();
  return new Matrix4().makeBasis(x, normal.clone().cross(x), normal).setPosition(point);
}

/** Box around the shadow of a body's box in the ground's frame, and the body's height. */
function shadowBox({ geometry, matrixWorld }, X_GW, lamp) {
  const X_GB = X_GW.clone().multiply(matrixWorld);
  const { min, max } = geometry.boundingBox;
  const low = new Vector2(Infinity, Infinity);
  const high = new Vector2(-Infinity, -Infinity);
  let height = 0;
  for (let i = 0; i < 8; i += 1) {
    const corner = new Vector3(i & 1 ? min.x : max.x, i & 2 ? min.y : max.y, i & 4 ? min.z : max.z).applyMatrix4(X_GB);
    const above = Math.max(corner.z, 0);
    const place = new Vector2(corner.x - (lamp.x / lamp.z) * above, corner.y - (lamp.y / lamp.z) * above);
    low.min(place);
    high.max(place);
    height = Math.max(height, above);
  }
  return { low, high, height };
}

function castMaterial() {
  return new ShaderMaterial({
    depthTest: false,
    depthWrite: false,
    side: DoubleSide,
    transparent: true,
    blending: CustomBlending,
    blendEquation: MaxEquation,
    blendSrc: OneFactor,
    blendDst: OneFactor,
    uniforms: { lamp: { value: KEY_LIGHT }, plane: { value: new Vector4(0, 0, 1, 0) }, highest: { value: 1 } },
    vertexShader: CAST_VERTEX,
    fragmentShader: `
      varying float nearness;
      void main() { gl_FragColor = vec4(1.0, nearness, 0.0, 1.0); }`,
  });
}

function blurMaterial(picture) {
  return new ShaderMaterial({
    depthTest: false,
    depthWrite: false,
    defines: { SEARCHED: 8, BLURRED: 24 },
    uniforms: { picture: { value: picture.texture }, softest: { value: 0 }, texel: { value: 1 / SIZE } },
    vertexShader: FLAT_VERTEX,
    fragmentShader: BLUR,
  });
}

function groundMaterial(blurred) {
  const material = new ShaderMaterial({
    transparent: true,
    depthWrite: false,
    side: DoubleSide,
    uniforms: { shadow: { value: blurred.texture }, colour: { value: new Color() } },
    vertexShader: `
      varying vec2 place;
      void main() {
        place = uv;
        gl_Position = projectionMatrix * modelViewMatrix * vec4(position, 1.0);
      }`,
    fragmentShader: `
      uniform sampler2D shadow;
      uniform vec3 colour;
      varying vec2 place;
      void main() { gl_FragColor = vec4(colour, texture2D(shadow, place).r); }`,
  });
  besideWindows(material);
  return material;
}
