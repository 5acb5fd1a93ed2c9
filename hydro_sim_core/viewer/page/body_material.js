// Material of bodies: matt to polished, under a soft sky and two lamps. Simple enough for software rendering.

import { Color, DoubleSide, FrontSide, ShaderMaterial } from "./vendor/three/three.module.min.js";
import { SHADOW, SHADOW_UNIFORMS } from "./body_shadow.js";
import { FILL_LIGHT, KEY_LIGHT } from "./lamps.js";
import { besideWindows, openWindow } from "./windows.js";

const FADED = 0.62; // opacity of bodies in contact

/** Lighting in screen colours without gamma: shades stay soft, and no pixel needs a power function. */
const SHADE = `
  uniform vec3 albedo, keyLight, fillLight;
  uniform float opacity, gloss;
  vec4 shade(vec3 normal, vec3 toEye, float seen) {
    float sky = mix(0.60, 0.86, 0.5 + 0.5 * normal.z);
    float key = seen * max(dot(normal, keyLight), 0.0);
    float fill = max(dot(normal, fillLight), 0.0);
    float facing = abs(dot(normal, toEye));
    vec3 colour = albedo * (sky + 0.24 * key + 0.07 * fill + 0.05 * facing);
    // Polish: the lamp in it, sharper the more, and the bright sky above a darker ground.
    vec3 mirrored = 2.0 * dot(normal, toEye) * normal - toEye;
    float lamp = max(dot(mirrored, keyLight), 0.0);
    lamp *= lamp * lamp;
    lamp *= lamp;
    lamp = mix(lamp, lamp * lamp * lamp, gloss);
    float rim = 1.0 - facing;
    colour += gloss * (0.45 * seen * lamp + (0.10 + 0.25 * rim * rim) * (smoothstep(-0.25, 0.45, mirrored.z) - 0.35));
    #ifdef CLEAR
      // Like a thin shell: clear where it faces the camera, denser towards its outline.
      return vec4(colour, mix(0.75, 0.17, facing));
    #else
      return vec4(colour, opacity);
    #endif
  }`;

const VERTEX = `
  #ifdef LIT_AT_VERTICES
    varying vec4 lit;
    ${SHADE}
  #else
    varying vec3 vNormal, vToEye, vPlace;
  #endif
  void main() {
    vec4 world = modelMatrix * vec4(position, 1.0);
    vec3 worldNormal = normalize(mat3(modelMatrix) * normal);
    vec3 toEye = cameraPosition - world.xyz;
    #ifdef LIT_AT_VERTICES
      lit = shade(worldNormal, normalize(toEye), 1.0);
    #else
      vNormal = worldNormal;
      vToEye = toEye;
      vPlace = world.xyz;
    #endif
    gl_Position = projectionMatrix * viewMatrix * world;
  }`;

const FRAGMENT = `
  #ifdef LIT_AT_VERTICES
    varying vec4 lit;
    void main() { gl_FragColor = lit; }
  #else
    varying vec3 vNormal, vToEye, vPlace;
    ${SHADOW}
    ${SHADE}
    void main() {
      vec3 normal = normalize(vNormal);
      gl_FragColor = shade(normal, normalize(vToEye), lampSeen(vPlace, normal, keyLight));
    }
  #endif`;

export class BodyMaterial extends ShaderMaterial {
  /**
   * @param {number[]} rgba
   * @param {number} gloss 0 for matt, 1 for polished.
   * @param {boolean} litAtVertices Light vertices instead of pixels, without shadows: cheaper.
   */
  constructor(rgba, gloss, litAtVertices) {
    super({
      vertexShader: VERTEX,
      fragmentShader: FRAGMENT,
      defines: litAtVertices ? { LIT_AT_VERTICES: "" } : {},
      uniforms: {
        albedo: { value: new Color(rgba[0], rgba[1], rgba[2]) },
        opacity: { value: rgba[3] },
        gloss: { value: gloss },
        keyLight: { value: KEY_LIGHT },
        fillLight: { value: FILL_LIGHT },
        ...SHADOW_UNIFORMS,
      },
    });
    this.alpha = rgba[3];
    this.look = null;
    this.setLook("solid", 0);
  }

  /**
   * @param {"solid"|"faded"|"clear"} look Opaque; faded and open to its patches; or like a thin shell, open to all.
   * @param {number} bit Bit of the patches behind which it opens.
   */
  setLook(look, bit) {
    if (look === "clear") besideWindows(this);
    else openWindow(this, look === "faded" ? bit : 0);
    if (look === this.look) return;
    if ((look === "clear") !== (this.look === "clear")) {
      if (look === "clear") this.defines.CLEAR = "";
      else delete this.defines.CLEAR;
      this.needsUpdate = true;
    }
    this.look = look;
    this.uniforms.opacity.value = this.alpha * (look === "faded" ? FADED : 1);
    this.transparent = look !== "solid" || this.alpha < 1;
    this.depthWrite = look === "faded" || !this.transparent;
    this.side = this.transparent ? FrontSide : DoubleSide; // third-party meshes are not always closed
  }
}
