// View of a contact.

import { Vector3 } from "./vendor/three/three.module.min.js";
import { around } from "./camera.js";

const ROOM = 1.9; // size of the view relative to the patch
const SMALLEST = 0.01; // m

/** Points around all patches. @param {import("./protocol.js").Patch[]} patches */
export function contactPoints(patches) {
  const points = patches.map(({ point }) => new Vector3(...point));
  const centre = points.reduce((sum, point) => sum.add(point), new Vector3()).divideScalar(points.length);
  const reaches = patches.map((patch, i) => points[i].distanceTo(centre) + reach(patch, points[i]));
  return around(centre, ROOM * Math.max(SMALLEST, ...reaches));
}

/** Size of a patch around its point. A line has no area. */
function reach({ area, corners }, point) {
  if (area > 0) return Math.sqrt(area / Math.PI);
  let farthest = 0;
  for (let i = 0; i < corners.length; i += 3) farthest = Math.max(farthest, point.distanceTo(new Vector3().fromArray(corners, i)));
  return farthest;
}

/** View obliquely from above onto the patch with the largest force. @param {import("./protocol.js").Patch[]} patches */
export function contactDirection(patches) {
  const size = ({ force }) => Math.hypot(...force);
  const strongest = patches.reduce((best, patch) => (size(patch) > size(best) ? patch : best));
  const normal = new Vector3(...strongest.force).normalize();
  if (Math.abs(normal.z) > 0.9 || normal.lengthSq() < 0.5) return new Vector3(0.6, -0.7, 0.45);
  const across = new Vector3(0, 0, 1).cross(normal).normalize();
  if (normal.y > 0) normal.negate();
  if (across.x < 0) across.negate();
  return normal.multiplyScalar(0.62).addScaledVector(across, 0.62).add(new Vector3(0, 0, 0.5));
}
