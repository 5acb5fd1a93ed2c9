// Contact laws: which pairs of links can touch, and how.

import { byId, make } from "./elements.js";

const SILENT = "none";

export const RIGID_SKIN = "rigid skin";

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

/** The largest pressure to tell: of rigid skins only where nothing compliant touches; as in hydro_sim_core/viewer/frame.py. */
export function largestPressure(patches) {
  const compliant = patches.filter(({ law }) => law !== RIGID_SKIN);
  return Math.max(0, ...(compliant.length ? compliant : patches).map((patch) => patch.max_pressure));
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
