// The ground: a grid that fades out, on the half spaces of the scene or on a floor below it.

import {
  BufferAttribute,
  BufferGeometry,
  Color,
  Group,
  LineSegments,
  Matrix4,
  ShaderMaterial,
  Vector3,
} from "./vendor/three/three.module.min.js";
import { besideWindows } from "./windows.js";

const CELLS = 20; // in every direction
const SPACINGS = [0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10]; // m

export class Ground {
  /**
   * @param {import("./stage.js").Stage} stage
   * @param {import("./theme.js").Theme} theme
   * @param {import("./shadow.js").SoftShadow} shadow Shadow on it.
   */
  constructor(stage, theme, shadow) {
    this.group = new Group();
    this.shadow = shadow;
    stage.scene.add(this.group);
    this._lines = new ShaderMaterial({
      transparent: true,
      depthWrite: false,
      uniforms: { colour: { value: new Color() }, reach: { value: 1 } },
      vertexShader: `
        varying vec2 place;
        void main() {
          place = position.xy;
          gl_Position = projectionMatrix * modelViewMatrix * vec4(position, 1.0);
        }`,
      fragmentShader: `
        uniform vec3 colour;
        uniform float reach;
        varying vec2 place;
        void main() {
          float fade = 1.0 - smoothstep(0.15, 1.0, length(place) / reach);
          gl_FragColor = vec4(colour, fade);
        }`,
    });
    besideWindows(this._lines);
    // Without conversion of colours, because the shader outputs it unchanged.
    const follow = () => this._lines.uniforms.colour.value.setStyle(theme.colour("grid"), "");
    theme.addEventListener("change", follow);
    follow();
  }

  /**
   * @param {{X_WG: number[]}[]} halfSpaces
   * @param {import("./vendor/three/three.module.min.js").Box3} extent Bounding box of the scene.
   */
  lay(halfSpaces, extent) {
    for (const grid of this.group.children) grid.geometry.dispose();
    this.group.clear();
    const centre = extent.isEmpty() ? new Vector3() : extent.getCenter(new Vector3());
    const size = extent.isEmpty() ? 1 : extent.getSize(new Vector3()).length();
    const floor = new Matrix4().makeTranslation(centre.x, centre.y, extent.isEmpty() ? 0 : extent.min.z);
    const poses = halfSpaces.length ? halfSpaces.map(({ X_WG }) => new Matrix4().set(...X_WG)) : [floor];
    const spacing = SPACINGS.find((length) => length * CELLS >= 1.2 * size) ?? SPACINGS.at(-1);
    this._lines.uniforms.reach.value = CELLS * spacing;
    for (const X_WG of poses) {
      const grid = new LineSegments(gridGeometry(spacing), this._lines);
      grid.applyMatrix4(X_WG);
      grid.renderOrder = -1;
      this.group.add(grid);
    }
    const [X_WG] = poses;
    this.shadow.fallOn(new Vector3().setFromMatrixColumn(X_WG, 2), new Vector3().setFromMatrixPosition(X_WG));
  }
}

function gridGeometry(spacing) {
  const reach = CELLS * spacing;
  const points = [];
  for (let i = -CELLS; i <= CELLS; i += 1) {
    points.push(i * spacing, -reach, 0, i * spacing, reach, 0, -reach, i * spacing, 0, reach, i * spacing, 0);
  }
  const geometry = new BufferGeometry();
  geometry.setAttribute("position", new BufferAttribute(new Float32Array(points), 3));
  return geometry;
}
