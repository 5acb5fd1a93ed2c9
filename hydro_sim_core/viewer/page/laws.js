// Contact laws: which pairs of links can touch, and how.

import { byId, make } from "./elements.js";

const SILENT = "none";

export const RIGID_SKIN = "rigid skin";
export const EQUIVALENT_POINT = "equivalent point";
const SOFT_MINIMUM = "soft minimum";
/** Pressures are told of the first of them that is in contact; as in hydro_sim_core/contact/laws.py. */
const LAWS = ["pressure field", RIGID_SKIN, EQUIVALENT_POINT, SOFT_MINIMUM];

/** List the laws of a scene; nothing where they are not known. @param {import("./protocol.js").Laws|null} laws */
export function listLaws(laws) {
  const details = byId("laws");
  details.hidden = !laws;
  if (!laws) return;
  const counts = Object.entries(laws.counts).filter(([, count]) => count > 0);
  const all = counts.reduce((sum, [, count]) => sum + count, 0);
  const words = counts.map(([law, count]) => `${count} ${law === SILENT ? "silent" : law}`);
  details.querySelector("summary").textContent = `Pairs of links: ${words.join(", ") || "none"}`;
  const rows = [...laws.pairs].sort(byLaw).map(([a, b, law]) => pairRow(`${a}, ${b}`, law));
  if (all > rows.length) rows.push(pairRow(`and ${all - rows.length} more`, ""));
  details.querySelector("tbody").replaceChildren(...rows);
}

/** The largest pressure to tell: of rigid bodies only where nothing compliant touches; as in hydro_sim_core/viewer/frame.py. */
export function largestPressure(patches) {
  const told = LAWS.map((name) => patches.filter(({ law }) => law === name)).find((alike) => alike.length) ?? [];
  return Math.max(0, ...told.map((patch) => patch.max_pressure));
}

function byLaw([a, b, law], [c, d, other]) {
  return compare(law, other) || compare(a, c) || compare(b, d);
}

function compare(p, q) {
  return p < q ? -1 : Number(p > q);
}

function pairRow(links, law) {
  return make("tr", {}, make("td", { textContent: links }), make("td", { textContent: law }));
}
