// The stage: renderer and draw loop, which draws only after changes.

import { Color, PerspectiveCamera, Scene, WebGLRenderer } from "./vendor/three/three.module.min.js";

const FIELD_OF_VIEW = 32; // degrees
const MOST_PIXELS = 2; // device pixels per CSS pixel; more are not visible
const RATE_WINDOW = 1000; // ms over which the frame rate is measured

export class Stage {
  /**
   * @param {HTMLCanvasElement} canvas
   * @param {import("./theme.js").Theme} theme
   * @param {boolean} finest Best quality, for single pictures, at any cost.
   */
  constructor(canvas, theme, finest) {
    this.canvas = canvas;
    /** Without a graphics processor, leave out antialiasing and lighting per pixel. */
    this.software = !finest && rendersInSoftware();
    this.renderer = new WebGLRenderer({ canvas, antialias: !this.software, stencil: true });
    this.renderer.setPixelRatio(Math.min(devicePixelRatio, MOST_PIXELS));

    this.scene = new Scene();
    this.scene.background = new Color();
    this.camera = new PerspectiveCamera(FIELD_OF_VIEW, 1, 0.01, 100);
    this.camera.up.set(0, 0, 1);

    /** Called before each drawing, in order; results are ignored. @type {(() => void)[]} */
    this.beforeDrawing = [];
    /** Called after each drawing. @type {(() => void)[]} */
    this.afterDrawing = [];
    this.drawings = 0;
    this._times = [];
    this._due = 0;
    this._followTheme(theme);
    canvas.addEventListener("webglcontextrestored", () => this.invalidate());
    new ResizeObserver(() => this._resize()).observe(canvas.parentElement);
    this._resize();
  }

  /** Draw with the next refresh of the screen. */
  invalidate() {
    if (!this._due) this._due = requestAnimationFrame(() => this._draw());
  }

  /** Frame rate over the last second; 0 while nothing changes. */
  get rate() {
    const now = performance.now();
    return this._times.filter((time) => now - time <= RATE_WINDOW).length / (RATE_WINDOW / 1000);
  }

  /** Set the camera's clipping planes for a scene of this size, m. */
  cover(size) {
    this.camera.near = 1e-3 * Math.max(size, 0.1);
    this.camera.far = 30 * Math.max(size, 0.1);
    this.camera.updateProjectionMatrix();
    this.invalidate();
  }

  _followTheme(theme) {
    const follow = () => {
      this.scene.background.set(theme.colour("stage"));
      this.invalidate();
    };
    theme.addEventListener("change", follow);
    follow();
  }

  _resize() {
    const { clientWidth, clientHeight } = this.canvas.parentElement;
    if (!clientWidth || !clientHeight) return;
    this.renderer.setSize(clientWidth, clientHeight, false);
    this.camera.aspect = clientWidth / clientHeight;
    this.camera.updateProjectionMatrix();
    this.invalidate();
  }

  _draw() {
    this._due = 0;
    for (const prepare of this.beforeDrawing) prepare();
    this.renderer.render(this.scene, this.camera);
    this.drawings += 1;
    const now = performance.now();
    this._times = this._times.filter((time) => now - time <= RATE_WINDOW);
    this._times.push(now);
    for (const conclude of this.afterDrawing) conclude();
  }
}

/** Whether the browser can draw the scene at all. */
export function hasWebGL() {
  return document.createElement("canvas").getContext("webgl2") !== null;
}

/** Whether WebGL is rendered in software. */
function rendersInSoftware() {
  const gl = document.createElement("canvas").getContext("webgl2");
  const info = gl.getExtension("WEBGL_debug_renderer_info");
  const name = gl.getParameter(info ? info.UNMASKED_RENDERER_WEBGL : gl.RENDERER);
  gl.getExtension("WEBGL_lose_context")?.loseContext();
  return /swiftshader|llvmpipe|softpipe|software/i.test(name);
}
