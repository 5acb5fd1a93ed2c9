// Windows: bodies in contact are open where one of their own patches is behind their surface.
//
// Patches are drawn first. Each marks its pixels in the stencil with the bits of its two bodies; a body is not drawn
// where it finds its bit, and clears the marks where it is drawn. So a patch is seen through the two bodies that make
// it, and hidden by all others; what is still marked at the end shows a patch.

import { EqualStencilFunc, NotEqualStencilFunc, ReplaceStencilOp, ZeroStencilOp } from "./vendor/three/three.module.min.js";

const BITS = [1, 2, 3, 4, 5, 6, 7].map((power) => 1 << power);
const PATCHES = 0xfe;

/**
 * Bits of the bodies in contact, by name. Those with fewest contacts share the last bit if there are too few: they open
 * for each other's patches too.
 * @param {import("./protocol.js").Patch[]} patches
 * @returns {Map<string, number>}
 */
export function windowBits(patches) {
  const counts = new Map();
  for (const { a, b } of patches) for (const name of [a, b]) counts.set(name, (counts.get(name) ?? 0) + 1);
  const names = [...counts.keys()].sort((p, q) => counts.get(q) - counts.get(p) || (p < q ? -1 : 1));
  return new Map(names.map((name, i) => [name, BITS[Math.min(i, BITS.length - 1)]]));
}

/** Draw a patch and mark its pixels with the bits of its bodies. */
export function markWindow(material, bits) {
  Object.assign(material, { stencilWrite: true, stencilWriteMask: PATCHES, stencilRef: bits, stencilZPass: ReplaceStencilOp });
}

/** Draw a body except where a patch has its bit; 0 for no windows. */
export function openWindow(material, bit) {
  Object.assign(material, {
    stencilWrite: true,
    stencilFunc: EqualStencilFunc,
    stencilRef: 0,
    stencilFuncMask: bit,
    stencilWriteMask: PATCHES,
    stencilZPass: ZeroStencilOp,
  });
}

/** Draw only where no patch is seen. */
export function besideWindows(material) {
  Object.assign(material, { stencilWrite: true, stencilFunc: EqualStencilFunc, stencilRef: 0, stencilFuncMask: PATCHES, stencilWriteMask: 0 });
}

/** Draw only where a patch is seen. */
export function withinWindows(material) {
  Object.assign(material, { stencilWrite: true, stencilFunc: NotEqualStencilFunc, stencilRef: 0, stencilFuncMask: PATCHES, stencilWriteMask: 0 });
}
