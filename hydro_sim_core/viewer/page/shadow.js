// Shadow on the ground: every body is drawn again, projected onto it along the light.

import { Color, DoubleSide, IncrementStencilOp, EqualStencilFunc, ShaderMaterial, Vector4 } from "./vendor/three/three.module.min.js";
import { KEY_LIGHT } from "./body_material.js";
import { SHADOW_STENCIL } from "./windows.js";

/** Shared by all bodies; the stencil lets overlapping shadows darken the ground only once. */
export class ShadowMaterial extends ShaderMaterial {
  /** @param {import("./theme.js").Theme} theme */
  constructor(theme) {
    super({
      transparent: true,
      depthWrite: false,
      side: DoubleSide,
      stencilWrite: true,
      stencilRef: 0, // neither shadow nor patch
      stencilWriteMask: SHADOW_STENCIL,
      stencilFunc: EqualStencilFunc,
      stencilZPass: IncrementStencilOp,
      uniforms: {
        lamp: { value: KEY_LIGHT },
        plane: { value: new Vector4(0, 0, 1, 0) },
        colour: { value: new Color() },
      },
      vertexShader: `
        uniform vec3 lamp;
        uniform vec4 plane;
        void main() {
          vec4 world = modelMatrix * vec4(position, 1.0);
          float height = max(dot(plane.xyz, world.xyz) + plane.w, 0.0);
          world.xyz -= lamp * (height / dot(plane.xyz, lamp));
          gl_Position = projectionMatrix * viewMatrix * world;
        }`,
      fragmentShader: `
        uniform vec3 colour;
        void main() { gl_FragColor = vec4(colour, 1.0); }`,
    });
    const follow = () => this.uniforms.colour.value.setStyle(theme.colour("shade"), "");
    theme.addEventListener("change", follow);
    follow();
  }

  /**
   * Set the plane of the ground.
   * @param {import("./vendor/three/three.module.min.js").Vector3} normal
   * @param {import("./vendor/three/three.module.min.js").Vector3} point
   */
  fallOn(normal, point) {
    this.uniforms.plane.value.set(normal.x, normal.y, normal.z, -normal.dot(point));
    this.visible = normal.dot(KEY_LIGHT) > 0.1;
  }
}
