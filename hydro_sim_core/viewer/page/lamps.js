// The two lamps, and what the shadows on ground and bodies share.

import { Vector3 } from "./vendor/three/three.module.min.js";

/** Towards the lamp that throws shadows, world. */
export const KEY_LIGHT = new Vector3(0.4, -0.62, 0.68).normalize();
/** Towards the lamp that lightens them. */
export const FILL_LIGHT = new Vector3(-0.75, 0.6, 0.28).normalize();
/** Radius of a lamp as seen from what it lights, rad. */
export const LAMP = 0.03;
/** What is farther from the middle of all shadows, such as a body that fell off, throws none, m. */
export const FARTHEST = 6;
/** Layer of what is drawn for shadows only. */
export const CASTERS = 1;

/** Points of a disc in a golden spiral, for blurring. */
export const SPIRAL = `
  vec2 spiral(int i, int count) {
    float angle = 2.39996323 * float(i);
    return sqrt((float(i) + 0.5) / float(count)) * vec2(cos(angle), sin(angle));
  }`;
