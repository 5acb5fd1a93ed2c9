// Main module: shows what the server sends, and sends the user's commands to the server.

import { Arrows } from "./arrows.js";
import { CameraMan, VIEW_NAMES } from "./camera.js";
import { Charts } from "./charts.js";
import { Connection } from "./connection.js";
import { ContactPoints } from "./contact_points.js";
import { contactDirection, contactPoints } from "./contact_view.js";
import { Drag } from "./drag.js";
import { byId } from "./elements.js";
import { Ground } from "./ground.js";
import { Labels } from "./labels.js";
import { Legend } from "./legend.js";
import { showBanner, toast } from "./notices.js";
import { Panel } from "./panel.js";
import { Patches } from "./patches.js";
import { Pointer } from "./pointer.js";
import { decodeFrame, frameHeader } from "./protocol.js";
import { Robot } from "./robot.js";
import { ScaleChoice } from "./scale_choice.js";
import { SceneChoice } from "./scene_choice.js";
import { Springs } from "./springs.js";
import { hasWebGL, Stage } from "./stage.js";
import { Theme } from "./theme.js";
import { throttle } from "./throttle.js";
import { Timeline } from "./timeline.js";
import { Box3, Vector3 } from "./vendor/three/three.module.min.js";

const asked = new URLSearchParams(location.search);
const still = asked.has("still");
document.body.classList.toggle("still", still);
fixSize(asked.get("size"));
if (!hasWebGL()) {
  showBanner("This browser has no WebGL 2, or it is switched off; the scene cannot be drawn.");
  throw new Error("no WebGL 2");
}

const theme = new Theme(["light", "dark"].includes(asked.get("theme")) ? asked.get("theme") : "auto");
const stage = new Stage(byId("view"), theme, still);
const cameraMan = new CameraMan(stage);
const robot = new Robot(stage, theme);
const ground = new Ground(stage, theme, robot.shadow);
const patches = new Patches(stage);
const arrows = new Arrows(stage, theme);
const pointMarks = new ContactPoints(stage, theme);
const labels = new Labels(stage, byId("labels"));
const legend = new Legend(byId("legend"));
const charts = still ? null : new Charts(theme);
const connection = new Connection();
const send = (command) => connection.send(command);
const panel = new Panel(send, (patch) => cameraMan.lookAt(contactPoints([patch])));
const sceneChoice = new SceneChoice(send);
const timeline = new Timeline(byId("timeline"), send);
const springs = new Springs(stage, theme, labels);
const drag = new Drag(stage, robot, springs, byId("pull"), send);
const pointer = new Pointer(stage, robot, patches, cameraMan, byId("tooltip"));
const scaleChoice = new ScaleChoice(byId("full-scale"), showScale);

/** @type {import("./protocol.js").Scene|null} */
let scene = null;
/** The newest frame that is not drawn yet. @type {ArrayBuffer|null} */
let arrived = null;
/** @type {import("./protocol.js").Frame|null} */
let shown = null;
/** Headers of frames that the charts do not show yet, in order, including frames that were never drawn. */
let untold = [];
let unacknowledged = null;
let simulationGone = false;
/** Links that fill the views; if there are none of them, all bodies do. */
const viewed = new Set(JSON.parse(asked.get("links") ?? "[]"));
/** View for the next frame; "contact" waits for a contact. */
let wantedView = VIEW_NAMES.includes(asked.get("view")) ? asked.get("view") : "iso";

connection.addEventListener("text", ({ detail }) => {
  if (detail.type === "scene") loadScene(detail);
  else if (detail.type === "missed") untold.push(...detail.frames);
  else if (detail.type === "rejected") toast(detail.reason);
  else if (detail.type === "told") toast(detail.text, true);
  else if (detail.type === "loading") showLoading(detail);
  else if (detail.type === "status") simulationGone = detail.simulation === "gone";
  showState();
});
connection.addEventListener("frame", ({ detail }) => {
  arrived = detail;
  untold.push(frameHeader(detail));
  if (scene) stage.invalidate();
});
connection.addEventListener("state", showState);
connection.addEventListener("state", () => {
  drag.letGo();
  sceneChoice.showLoading(null);
});
stage.beforeDrawing.push(showNewest);
stage.afterDrawing.push(() => {
  if (unacknowledged === null) return;
  send({ type: "shown", seq: unacknowledged });
  unacknowledged = null;
});

function showLoading({ name, problem }) {
  sceneChoice.showLoading(name);
  if (problem) toast(problem);
}

/** Number of the newest scene; frames wait until it is loaded, because they cannot be decoded without it. */
let loading = 0;
async function loadScene(next) {
  const mine = ++loading;
  drag.letGo();
  const sameLinks = scene?.links.join() === next.links.join();
  scene = null;
  dropFrame();
  try {
    await robot.load(next);
  } catch (error) {
    toast(`A mesh of the scene could not be fetched: ${error.message}`);
  }
  if (mine !== loading) return;
  scene = next;
  scaleChoice.load(next.scale);
  panel.load(next);
  sceneChoice.load(next);
  drag.load(next);
  timeline.load(next.timeline);
  charts?.load(next);
  byId("scene-name").textContent = document.title = next.name;
  document.body.dataset.mode = next.mode;
  robot.showFrames(byId("show-frames").checked);
  if (!sameLinks) {
    arrows.forget();
    wantedView ??= "iso";
    shown = null;
  }
  showState();
  stage.invalidate();
}

function showScale(scale) {
  for (const shows of [patches, legend, panel, pointer]) shows.setScale(scale);
  if (shown) describe();
}

/** Drop a frame of another scene; report it as drawn, so that the server sends the next. */
function dropFrame() {
  if (arrived) send({ type: "shown", seq: frameHeader(arrived).seq });
  arrived = null;
  untold = [];
}

function showNewest() {
  if (!scene || !arrived) return;
  const frame = decodeFrame(arrived, scene.links.length);
  arrived = null;
  patches.show(frame);
  robot.show(frame, patches.bits);
  arrows.show(frame);
  pointMarks.show(frame);
  drag.show(frame);
  if (!shown) {
    const extent = new Box3().setFromPoints(robot.corners());
    ground.lay(scene.ground, extent);
    stage.cover(extent.getSize(new Vector3()).length());
  }
  const first = !shown;
  shown = frame;
  label();
  unacknowledged = frame.seq;
  takeWantedView(first);
  byId("clock").textContent = `${frame.time.toFixed(3)} s`;
  timeline.show(frame);
  if (!still) panel.show(frame);
  for (const header of untold) charts?.show(header);
  untold = [];
  describe();
}

function label() {
  if (!shown) return;
  const isOn = (id) => byId(id).checked;
  labels.show("force", isOn("show-numbers") && isOn("show-wrenches") ? arrows.forceLabels(shown) : []);
  labels.show("body", isOn("show-names") ? robot.bodyLabels() : []);
  labels.show("frame", isOn("show-frames") ? robot.frameLabels() : []);
}

function takeWantedView(first) {
  if (!wantedView) return;
  const waits = wantedView === "contact" && !shown.patches.length;
  if (first || !waits) takeView(wantedView, first);
  if (!waits) wantedView = null;
}

function takeView(view, atOnce = false) {
  if (!shown) return;
  if (view === "contact" && shown.patches.length) {
    cameraMan.lookAt(contactPoints(shown.patches), contactDirection(shown.patches), atOnce);
  } else {
    cameraMan.show(view, robot.corners(viewed), atOnce);
  }
}

function showState() {
  const { state } = connection;
  document.body.dataset.state = hydroSim.state;
  document.body.dataset.simulation = simulationGone ? "gone" : "running";
  if (state === "refused") showBanner("Another simulation is here: open the address that it printed.");
  else if (simulationGone) showBanner("The simulation has ended. Waiting for the next …");
  else if (state === "lost") showBanner("Connection lost. Trying again …");
  else showBanner(null);
  const words = { connecting: "connecting", lost: "no connection", refused: "no access", live: runningWord() };
  byId("state-text").textContent = simulationGone ? "ended" : words[state];
}

function runningWord() {
  if (!shown || !scene) return "loading";
  const word = shown.paused ? "paused" : scene.mode;
  const pace = !shown.paused && shown.pace ? ` · ${shown.pace.rtf.toFixed(2)}× real time` : "";
  return `${word}${pace} · ${shown.counts.length} faces`;
}

/** Text takes longer than drawing, so it is throttled; in a picture it must be that of the instant. */
const describe = still ? describeNow : throttle(describeNow, 150);

function describeNow() {
  showState();
  if (shown) legend.show(shown, arrows.visible ? arrows.unit : null);
}

for (const button of byId("cameras").querySelectorAll("button")) {
  button.addEventListener("click", () => takeView(button.dataset.view));
}
byId("theme").value = theme.chosen;
byId("theme").addEventListener("change", ({ target }) => theme.choose(target.value));
byId("bodies").addEventListener("change", ({ target }) => robot.setMode(target.value));
onCheck("show-faces", (on) => {
  pointMarks.showDots(on);
  patches.showFaces(on);
});
onCheck("show-edges", (on) => {
  pointMarks.showLines(on);
  patches.showEdges(on);
});
onCheck("show-wrenches", (on) => arrows.setVisible(on));
onCheck("show-frames", (on) => robot.showFrames(on));
for (const id of ["show-numbers", "show-names", "show-wrenches", "show-frames"]) {
  onCheck(id, () => {
    label();
    describe();
    stage.invalidate();
  });
}
onCheck("show-ground", (on) => {
  ground.group.visible = on;
  stage.invalidate();
});

if (asked.get("bodies") === "solid") {
  // As bodies look: neither their contacts nor what explains them.
  byId("bodies").value = "solid";
  robot.setMode("solid");
  document.body.classList.add("plain");
  for (const id of ["show-faces", "show-edges", "show-wrenches"]) {
    byId(id).checked = false;
    byId(id).dispatchEvent(new Event("change"));
  }
}

byId("drawer-handle").addEventListener("click", ({ target }) => {
  const open = document.body.classList.toggle("drawer-open");
  target.setAttribute("aria-expanded", String(open));
  target.textContent = open ? "Close" : "Controls";
});

addEventListener("keydown", (event) => {
  if (event.target.closest("input, select, button, textarea") || event.ctrlKey || event.metaKey || event.altKey) return;
  const view = VIEW_NAMES[Number(event.key) - 1];
  if (view) takeView(view);
  else if (event.key === " ") (scene?.timeline ? timeline : panel).togglePause();
  else if (event.key === "n") panel.step();
  else if (event.key === "p") byId("pull").click();
  else return;
  event.preventDefault();
});

function onCheck(id, act) {
  byId(id).addEventListener("change", ({ target }) => act(target.checked));
}

/** @param {string|null} size "WxH": size of the stage in pixels, independent of the window. */
function fixSize(size) {
  const match = /^(\d{2,4})x(\d{2,4})$/.exec(size ?? "");
  if (match) Object.assign(byId("stage").style, { width: `${match[1]}px`, height: `${match[2]}px`, flex: "none" });
}

/** Interface for tests and for taking pictures. */
window.hydroSim = {
  get state() {
    return connection.state === "live" && !shown ? "connecting" : connection.state;
  },
  get scene() {
    return scene?.key ?? null;
  },
  get seq() {
    return unacknowledged === null && shown && scene ? shown.seq : null;
  },
  get frames() {
    return stage.drawings;
  },
  get fps() {
    return stage.rate;
  },
  get charted() {
    return charts?.charted ?? null;
  },
  get bytes() {
    return connection.bytes;
  },
  get faces() {
    return shown?.counts.length ?? 0;
  },
};
