// Soft shadows of bodies on bodies. Bodies are drawn from the lamp into a picture of depths; a point of a body is in
// shadow where something lies before it there. The edge of a shadow is the softer the farther what throws it is, as on
// the ground (shadow.js).

import {
  DepthTexture,
  DoubleSide,
  Matrix4,
  NearestFilter,
  OrthographicCamera,
  ShaderMaterial,
  UnsignedIntType,
  Vector2,
  Vector3,
  WebGLRenderTarget,
} from "./vendor/three/three.module.min.js";
import { CASTERS, FARTHEST, KEY_LIGHT, LAMP, SPIRAL } from "./lamps.js";
import { median } from "./median.js";

const SIZE = 1024; // pixels of an edge of the picture
const MOST_BLUR = 0.6; // m between two bodies; over larger distances edges grow no softer

/** Of all bodies: the picture, from the world into it, and its width and depth, m. */
export const SHADOW_UNIFORMS = {
  depths: { value: null },
  worldToPicture: { value: new Matrix4() },
  pictureSize: { value: new Vector2(1, 1) },
};

/** How much of the lamp a point of a body sees, from 0 to 1, given its place, its normal and the way to the lamp. */
export const SHADOW = `
  uniform sampler2D depths;
  uniform mat4 worldToPicture;
  uniform vec2 pictureSize;
  ${SPIRAL}
  float lampSeen(vec3 place, vec3 normal, vec3 toLamp) {
    if (dot(normal, toLamp) < 0.02) return 0.0;
    float width = pictureSize.x, depth = pictureSize.y, texel = width / ${SIZE.toFixed(1)};
    vec3 at = (worldToPicture * vec4(place + 1.5 * texel * normal, 1.0)).xyz;
    if (any(lessThan(at, vec3(0.0))) || any(greaterThan(at, vec3(1.0)))) return 1.0;
    // How the plane of the surface goes on around the point, in depth per width.
    vec3 n = mat3(worldToPicture) * normal * vec3(width, width, -depth);
    vec2 slope = n.xy / max(n.z, 0.1) * width / depth;
    float blocked = 0.0, distance = 0.0;
    for (int i = 0; i < 8; i++) {
      vec2 shift = ${(LAMP * MOST_BLUR).toFixed(4)} / width * spiral(i, 8);
      float before = at.z + dot(slope, shift) - texture2D(depths, at.xy + shift).r;
      if (before > 0.0) { blocked += 1.0; distance += before * depth; }
    }
    if (blocked == 0.0) return 1.0;
    float radius = max(${LAMP.toFixed(3)} * min(distance / blocked, ${MOST_BLUR.toFixed(1)}), 1.5 * texel) / width;
    float seen = 0.0;
    for (int i = 0; i < 12; i++) {
      vec2 shift = radius * spiral(i, 12);
      seen += at.z + dot(slope, shift) > texture2D(depths, at.xy + shift).r ? 0.0 : 1.0;
    }
    return seen / 12.0;
  }`;

export class BodyShadow {
  /**
   * @param {import("./stage.js").Stage} stage
   * @param {import("./shadow.js").SoftShadow} ground Knows what throws shadows.
   */
  constructor(stage, ground) {
    this.stage = stage;
    this._ground = ground;
    const depthTexture = new DepthTexture(SIZE, SIZE, UnsignedIntType);
    this._picture = new WebGLRenderTarget(SIZE, SIZE, { depthTexture, minFilter: NearestFilter, magFilter: NearestFilter });
    this._lamp = new OrthographicCamera();
    this._lamp.layers.set(CASTERS);
    this._material = depthMaterial();
    SHADOW_UNIFORMS.depths.value = depthTexture;
    stage.beforeDrawing.push(() => this._draw());
  }

  _draw() {
    const { scene, renderer } = this.stage;
    scene.updateMatrixWorld();
    this._aim();
    const { background } = scene;
    scene.background = null;
    scene.overrideMaterial = this._material;
    renderer.setRenderTarget(this._picture);
    renderer.render(scene, this._lamp);
    renderer.setRenderTarget(null);
    scene.overrideMaterial = null;
    scene.background = background;
  }

  /** Let the lamp's view hold all bodies that are near each other. */
  _aim() {
    const X_WL = lampFrame();
    const { low, high } = extent(this._ground.casters, X_WL.clone().invert());
    const half = 0.5 * Math.max(high.x - low.x, high.y - low.y, 0.01) + 0.01;
    const depth = high.z - low.z + 0.02;
    const centre = low.clone().add(high).multiplyScalar(0.5);
    X_WL.multiply(new Matrix4().makeTranslation(centre.x, centre.y, high.z + 0.01));
    const lamp = this._lamp;
    Object.assign(lamp, { left: -half, right: half, top: half, bottom: -half, near: 0, far: depth });
    lamp.updateProjectionMatrix();
    X_WL.decompose(lamp.position, lamp.quaternion, lamp.scale);
    lamp.updateMatrixWorld();
    const intoUnit = new Matrix4().makeScale(0.5, 0.5, 0.5).setPosition(0.5, 0.5, 0.5);
    SHADOW_UNIFORMS.worldToPicture.value.copy(intoUnit).multiply(lamp.projectionMatrix).multiply(lamp.matrixWorldInverse);
    SHADOW_UNIFORMS.pictureSize.value.set(2 * half, depth);
  }
}

/** Axes of the lamp's view, z towards the lamp. */
function lampFrame() {
  const x = new Vector3(0, 0, 1).cross(KEY_LIGHT).normalize();
  return new Matrix4().makeBasis(x, KEY_LIGHT.clone().cross(x), KEY_LIGHT);
}

/** Box in the lamp's frame around all bodies but those far from their middle. */
function extent(casters, X_LW) {
  const low = new Vector3(Infinity, Infinity, Infinity);
  const high = new Vector3(-Infinity, -Infinity, -Infinity);
  const boxes = casters.map(({ geometry, matrixWorld }) => geometry.boundingBox.clone().applyMatrix4(X_LW.clone().multiply(matrixWorld)));
  const centres = boxes.map((box) => box.getCenter(new Vector3()));
  const middle = new Vector3(...["x", "y", "z"].map((axis) => median(centres.map((centre) => centre[axis]))));
  boxes.forEach((box, i) => {
    if (centres[i].distanceTo(middle) > FARTHEST) return;
    low.min(box.min);
    high.max(box.max);
  });
  return low.x <= high.x ? { low, high } : { low: new Vector3(), high: new Vector3() };
}

function depthMaterial() {
  return new ShaderMaterial({
    side: DoubleSide,
    colorWrite: false,
    vertexShader: "void main() { gl_Position = projectionMatrix * modelViewMatrix * vec4(position, 1.0); }",
    fragmentShader: "void main() { gl_FragColor = vec4(1.0); }",
  });
}
