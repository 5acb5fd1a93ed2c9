// The last seconds as curves.

import uPlot from "./vendor/uplot/uPlot.esm.js";
import { byId, make } from "./elements.js";
import { throttle } from "./throttle.js";

const SAMPLES = 600; // 20 s at 30 frames a second
const PERIOD = 250; // ms between two drawings
const LONGEST_STEP = 0.4; // s of simulated time between two frames; nothing is known of what was in a longer one
const HEIGHT = 78; // px

/** @typedef {import("./protocol.js").Frame} Frame */

const CHARTS = [
  { title: "Grip force, N", names: (scene) => scene.grippers.map(({ name }) => name), values: gripForces },
  { title: "Contact area, cm²", names: () => ["area"], values: ({ patches }) => [1e4 * sum(patches, "area")] },
  { title: "Real-time factor", names: liveOnly("factor"), values: ({ pace }) => [pace?.rtf ?? null] },
  { title: "Loop jitter (p99), µs", names: liveOnly("jitter"), values: ({ pace }) => [pace ? 1e6 * pace.jitter_p99 : null] },
];

export class Charts {
  /** @param {import("./theme.js").Theme} theme */
  constructor(theme) {
    this.theme = theme;
    this._section = byId("chart-section");
    this._charts = [];
    this._draw = throttle(() => this._charts.forEach((chart) => chart.draw()), PERIOD);
    theme.addEventListener("change", () => this._build());
    new ResizeObserver(() => this._charts.forEach((chart) => chart.fit())).observe(this._section);
  }

  /** @param {import("./protocol.js").Scene} scene */
  load(scene) {
    this._scene = scene;
    this._build();
  }

  /** @param {Frame} frame */
  show(frame) {
    if (frame.epoch !== this._epoch || frame.time < this._time) this._charts.forEach((chart) => chart.clear());
    if (frame.time - this._time > LONGEST_STEP * Math.max(1, frame.pace?.rtf ?? 1)) this._charts.forEach((chart) => chart.breakOff(frame.time));
    if (frame.time !== this._time) this._charts.forEach((chart) => chart.add(frame));
    this._epoch = frame.epoch;
    this._time = frame.time;
    this._draw();
  }

  _build() {
    if (!this._scene) return;
    for (const chart of this._charts) chart.remove();
    const wanted = CHARTS.filter(({ names }) => names(this._scene).length);
    this._charts = wanted.map((chart) => new Chart(chart, this._scene, this.theme, this._section));
  }
}

class Chart {
  constructor({ title, names, values }, scene, theme, section) {
    this._values = (frame) => values(frame, scene);
    const series = names(scene);
    /** Times, then the values of each curve; null where there is none. @type {(number|null)[][]} */
    this._rows = Array.from({ length: 1 + series.length }, () => []);
    const axis = { stroke: theme.colour("muted"), grid: { stroke: theme.colour("line"), width: 1 }, ticks: { show: false } };
    const options = {
      width: section.clientWidth || 300,
      height: HEIGHT,
      legend: { show: false },
      cursor: { show: false },
      padding: [6, 10, 0, 0],
      scales: { x: { time: false }, y: { range: roomyRange } },
      axes: [
        { ...axis, size: 20, gap: 5, font: "10px system-ui", values: (_, marks) => marks.map((mark) => `${mark} s`), space: 60 },
        { ...axis, size: 44, gap: 4, font: "10px system-ui", space: 24 },
      ],
      series: [{}, ...series.map((label, i) => ({ label, width: 1.5, points: { show: false }, stroke: theme.colour(`curve-${i % 4}`) }))],
    };
    this._now = make("output");
    this.element = make("figure", {}, make("figcaption", {}, make("span", { textContent: title }), this._now));
    section.append(this.element);
    this._plot = new uPlot(options, this._rows, this.element);
  }

  /** @param {Frame} frame */
  add(frame) {
    this._push([frame.time, ...this._values(frame)]);
  }

  /** Draw no line across the time before this one. */
  breakOff(time) {
    this._push([time]);
  }

  _push(sample) {
    this._rows.forEach((row, i) => {
      row.push(sample[i] ?? null);
      if (row.length > SAMPLES) row.shift();
    });
  }

  clear() {
    for (const row of this._rows) row.length = 0;
  }

  draw() {
    if (!this.element.offsetParent) return; // behind the closed drawer
    const newest = this._rows.slice(1).map((row) => row.at(-1));
    this._now.textContent = newest.filter(Number.isFinite).map(threeDigits).join("  ");
    this._plot.setData(this._rows);
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

function liveOnly(name) {
  return (scene) => (scene.mode === "live" ? [name] : []);
}

function gripForces({ grip_forces: forces }, scene) {
  return scene.grippers.map(({ name }) => forces[name] ?? null);
}

function sum(rows, key) {
  return rows.reduce((total, row) => total + row[key], 0);
}

function threeDigits(value) {
  return String(Number(Number(value.toPrecision(3)).toFixed(3)));
}

/** From zero, with room above, and never so narrow that noise fills the chart. */
function roomyRange(_, lowest, highest) {
  if (!Number.isFinite(highest)) return [0, 1];
  return [Math.min(0, lowest), highest > 0 ? 1.15 * highest : 1];
}
