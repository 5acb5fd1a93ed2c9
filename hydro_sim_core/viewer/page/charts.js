// Charts of the last seconds.

import uPlot from "./vendor/uplot/uPlot.esm.js";
import { byId, make, threeDigits } from "./elements.js";
import { throttle } from "./throttle.js";

const SAMPLES = 600; // 20 s at 30 frames a second
const PERIOD = 250; // ms between two drawings
const LONGEST_STEP = 0.4; // s of simulated time between two frames; a longer step leaves a gap
const HEIGHT = 78; // px
const MOST_CURVES = 6; // the number of colours
/** Curves after each other: those with the same values stay visible below each other. */
const DASHES = [[], [7, 5], [2, 3]];
const DASH_STYLES = ["solid", "dashed", "dotted"];

/**
 * @typedef {import("./protocol.js").FrameHeader} FrameHeader
 * @typedef {import("./protocol.js").Scene} Scene
 *
 * @typedef {object} Kind
 * @property {string} title
 * @property {(scene: Scene) => unknown} fits Whether the scene has such curves.
 * @property {(frame: FrameHeader, scene: Scene) => Object<string, number|null>} values Value of each curve by its name.
 * @property {boolean} [named] Whether the curves need names in the legend.
 * @property {number|null} [absent] Value of a curve that is missing in a frame.
 */

/** @type {Kind[]} */
const KINDS = [
  gripKind("Grip force, N", "N"),
  gripKind("Grip effort, N m", "N m"),
  { title: "Contact force, N", fits: () => true, values: contactForces, named: true, absent: 0 },
  { title: "Contact area, cm²", fits: () => true, values: ({ patches }) => ({ area: 1e4 * sum(patches, "area") }) },
  { title: "Real-time factor", fits: isLive, values: ({ pace }) => ({ factor: pace?.rtf ?? null }) },
  { title: "Loop jitter (p99), ms", fits: isLive, values: ({ pace }) => ({ jitter: pace ? 1e3 * pace.jitter_p99 : null }) },
];

export class Charts {
  /** @param {import("./theme.js").Theme} theme */
  constructor(theme) {
    this.theme = theme;
    this._section = byId("chart-section");
    this._charts = [];
    this._draw = throttle(() => this._charts.forEach((chart) => chart.draw()), PERIOD);
    theme.addEventListener("change", () => this._charts.forEach((chart) => chart.replot()));
    new ResizeObserver(() => this._charts.forEach((chart) => chart.fit())).observe(this._section);
  }

  /** @param {Scene} scene */
  load(scene) {
    for (const chart of this._charts) chart.remove();
    const colours = new CurveColours(scene);
    this._charts = KINDS.filter(({ fits }) => fits(scene)).map((kind) => new Chart(kind, scene, this.theme, this._section, colours));
  }

  /** Times and values of the curve that every scene has. */
  get charted() {
    const chart = this._charts.find(({ kind }) => kind.title.startsWith("Contact area"));
    return { times: chart?._times ?? [], values: chart?._curves.get("area") ?? [] };
  }

  /** @param {FrameHeader} frame */
  show(frame) {
    if (frame.epoch !== this._epoch || frame.time < this._time) this._charts.forEach((chart) => chart.clear());
    if (frame.time - this._time > LONGEST_STEP * Math.max(1, frame.pace?.rtf ?? 1)) this._charts.forEach((chart) => chart.breakOff(frame.time));
    if (frame.time !== this._time) this._charts.forEach((chart) => chart.add(frame));
    this._epoch = frame.epoch;
    this._time = frame.time;
    this._draw();
  }
}

class Chart {
  /**
   * @param {Kind} kind
   * @param {Scene} scene
   * @param {import("./theme.js").Theme} theme
   * @param {HTMLElement} section
   * @param {CurveColours} colours
   */
  constructor(kind, scene, theme, section, colours) {
    this.kind = kind;
    this.scene = scene;
    this.colours = colours;
    this.theme = theme;
    this._now = make("output");
    this._key = make("ul", { className: "key" });
    this.element = make("figure", {}, make("figcaption", {}, make("span", { textContent: kind.title }), this._now), this._key);
    section.append(this.element);
    this.clear();
    this.replot();
  }

  /** @param {FrameHeader} frame */
  add(frame) {
    const values = this.kind.values(frame, this.scene);
    for (const name of Object.keys(values)) {
      if (!this._curves.has(name)) this._curves.set(name, this._times.map(() => null));
    }
    this._push(frame.time, (name) => values[name] ?? this.kind.absent ?? null);
  }

  /** Leave a gap before this time. */
  breakOff(time) {
    this._push(time, () => null);
  }

  _push(time, valueOf) {
    this._times.push(time);
    for (const [name, row] of this._curves) row.push(valueOf(name));
    if (this._times.length > SAMPLES) [this._times, ...this._curves.values()].forEach((row) => row.shift());
  }

  clear() {
    this._times = [];
    /** Values at these times by the curve's name; null where there is none. @type {Map<string, (number|null)[]>} */
    this._curves = new Map();
    /** Names of the curves that are drawn. @type {string[]} */
    this._drawn = [];
  }

  draw() {
    if (!this.element.offsetParent) return; // hidden in the closed drawer
    this._choose();
    const plotted = this._plot.series.slice(1).map(({ label }) => label);
    if (plotted.join("\n") !== this._drawn.join("\n")) this.replot();
    else this._plot.setData(this._rows());
    this._tell();
  }

  /** Select the curves with the highest values, in the order of their names. */
  _choose() {
    const peaks = new Map([...this._curves].map(([name, row]) => [name, Math.max(...row)]));
    const highest = [...peaks.keys()].sort((p, q) => peaks.get(q) - peaks.get(p)).slice(0, MOST_CURVES);
    this._drawn = highest.sort(byName);
  }

  _rows() {
    return [this._times, ...this._drawn.map((name) => this._curves.get(name))];
  }

  /** Show the newest values. */
  _tell() {
    const newest = this._drawn.map((name) => threeDigits(this._curves.get(name).at(-1)));
    if (!this.kind.named) this._now.textContent = newest.join("  ");
    else this._key.querySelectorAll("output").forEach((output, i) => (output.textContent = newest[i]));
  }

  /** Redraw in the colours of the theme, with the same data. */
  replot() {
    this._plot?.destroy();
    const slots = this.colours.of(this._drawn);
    const axis = { stroke: this.theme.colour("muted"), grid: { stroke: this.theme.colour("line"), width: 1 }, ticks: { show: false } };
    const options = {
      width: this.element.clientWidth || 300,
      height: HEIGHT,
      legend: { show: false },
      cursor: { show: false },
      padding: [6, 10, 0, 0],
      scales: { x: { time: false }, y: { range: roomyRange } },
      axes: [
        { ...axis, size: 20, gap: 5, font: "10px system-ui", values: (_, marks) => marks.map((mark) => `${mark} s`), space: 60 },
        { ...axis, size: 44, gap: 4, font: "10px system-ui", space: 24 },
      ],
      series: [{}, ...this._drawn.map((label, i) => this._curve(label, i, slots.get(label)))],
    };
    this._plot = new uPlot(options, this._rows(), this.element);
    if (this.kind.named) this._key.replaceChildren(...this._drawn.map((name, i) => keyRow(name, i, slots.get(name))));
    this._tell();
  }

  _curve(label, i, slot) {
    return { label, width: 1.5, dash: DASHES[i % DASHES.length], points: { show: false }, stroke: this.theme.colour(`curve-${slot}`) };
  }

  fit() {
    const width = this.element.clientWidth;
    if (width && width !== this._plot.width) this._plot.setSize({ width, height: HEIGHT });
  }

  remove() {
    this._plot.destroy();
    this.element.remove();
  }
}

/** Colours of curves by their names alone, so that all pages of a scene have the same. */
class CurveColours {
  /** @param {Scene} scene */
  constructor(scene) {
    const named = [...scene.links, ...scene.grippers.map(({ name }) => name)];
    this._index = new Map(named.map((name, i) => [name, i]));
  }

  /**
   * Number of the colour of each curve: pairs of neighbouring links with a third one differ, and of two curves with the
   * same the later has the next free one.
   * @param {string[]} names
   * @returns {Map<string, number>}
   */
  of(names) {
    const slots = new Map();
    for (const name of [...names].sort(byName)) {
      let slot = name.split(" on ").reduce((sum, body) => sum + (this._index.get(body) ?? 0), 0) % MOST_CURVES;
      while ([...slots.values()].includes(slot)) slot = (slot + 1) % MOST_CURVES;
      slots.set(name, slot);
    }
    return slots;
  }
}

function byName(a, b) {
  return a < b ? -1 : Number(a > b);
}

function keyRow(name, i, slot) {
  const row = make("li", { title: name }, make("span", { textContent: name }), make("output"));
  row.style.setProperty("--curve", `var(--curve-${slot})`);
  row.style.setProperty("--dash", DASH_STYLES[i % DASH_STYLES.length]);
  return row;
}

function isLive({ mode }) {
  return mode === "live";
}

/** Magnitude of the force between two bodies, by their names. */
function contactForces({ patches }) {
  const forces = {};
  for (const { a, b, force } of patches) {
    const total = (forces[`${a} on ${b}`] ??= [0, 0, 0]);
    force.forEach((component, i) => (total[i] += component));
  }
  return Object.fromEntries(Object.entries(forces).map(([name, force]) => [name, Math.hypot(...force)]));
}

function sum(rows, key) {
  return rows.reduce((total, row) => total + row[key], 0);
}

/** Range of an axis from zero, with room above, and wide enough that noise does not fill the chart. */
function roomyRange(_, lowest, highest) {
  if (!Number.isFinite(highest)) return [0, 1];
  return [Math.min(0, lowest), highest > 0 ? 1.15 * highest : 1];
}

/** The chart of the grippers whose force is in this unit. */
function gripKind(title, unit) {
  const names = (scene) => scene.grippers.filter((gripper) => gripper.unit === unit).map(({ name }) => name);
  const values = ({ grip_forces: forces }, scene) => Object.fromEntries(names(scene).map((name) => [name, forces[name] ?? null]));
  return { title, fits: (scene) => names(scene).length, values, named: true };
}
