// Protocol between server and page. The layout of a frame is that of hydro_sim_core/viewer/frame.py.

/**
 * @typedef {object} Scene Sent once, and again when the scene changes.
 * @property {string} key Changes with the scene.
 * @property {string} name
 * @property {"live"|"replay"} mode
 * @property {string[]} links Names of the frames, in the order of the poses.
 * @property {{link: number, mesh: string, X_LV: number[], rgba: number[], gloss: number}[]} visuals
 * @property {{X_WG: number[]}[]} ground Half spaces.
 * @property {Joint[]} joints
 * @property {{name: string, max_force: number, unit: string, joints: string[]}[]} grippers
 * @property {{name: string, maximum: number, unit: [string, number], colours: number[][]}} scale Pa; unit and its size in Pa.
 * @property {string[]} pullable Links that forces move.
 * @property {number} time_step
 * @property {boolean} takes_commands
 * @property {Laws|null} laws Null in a recording, which does not tell them.
 * @property {Range|null} timeline
 * @property {[string, string][]} choices Group and name of what may be loaded in its place.
 * @property {string|null} chosen Name of the one that is shown.
 *
 * @typedef {{counts: Object<string, number>, pairs: [string, string, string][]}} Laws Links and law of the first pairs, in
 *   words; "none" for those that do not touch.
 *
 * @typedef {{start: number, end: number, gaps: [number, number][]}} Range Of a recording, s; gaps are missing in it.
 *
 * @typedef {object} Joint
 * @property {string} name
 * @property {"rad"|"m"} unit
 * @property {number|null} lower
 * @property {number|null} upper
 * @property {boolean} commandable
 *
 * @typedef {object} Patch
 * @property {string} a
 * @property {string} b
 * @property {number} faces
 * @property {number} vertices
 * @property {number[]} force On b, N.
 * @property {number[]} moment About `point`, N m.
 * @property {number[]} point Centre of pressure, m.
 * @property {number} area m²; 0 along a line or at a point.
 * @property {number} max_pressure Pa; 0 without area.
 * @property {string|null} problem Why the force should not be trusted.
 * @property {string} law "pressure field", "rigid skin", "soft minimum" or "equivalent point", whose faces may be a line or a point.
 * @property {Float32Array} corners Vertices of its faces, world, m.
 *
 * @typedef {object} FrameHeader
 * @property {number} seq
 * @property {number} time
 * @property {number} step
 * @property {number} epoch
 * @property {boolean} paused
 * @property {number|null} speed
 * @property {number[]} joints
 * @property {Object<string, number>} grip_forces
 * @property {Patch[]} patches
 * @property {{link: string, point: number[], target: number[], force: number[]}[]} pulls Springs, world, m and N.
 * @property {{rtf: number, jitter_p99: number, step_p99: number, late_steps: number}|null} pace
 * @property {number|null} timeline_time
 *
 * @typedef {FrameHeader & FrameArrays} Frame
 *
 * @typedef {object} FrameArrays
 * @property {Float32Array} poses x y z qx qy qz qw of every link.
 * @property {Float32Array} vertices Of all faces of all patches, world, m.
 * @property {Float32Array} pressures At the vertices, Pa.
 * @property {Uint8Array} counts Number of vertices of every face.
 */

const POSE_NUMBERS = 7;

/**
 * @param {ArrayBuffer} bytes
 * @param {number} links Number of poses in the frame.
 * @returns {Frame}
 */
export function decodeFrame(bytes, links) {
  const { header, end } = decodeHeader(bytes);
  const total = (key) => header.patches.reduce((sum, patch) => sum + patch[key], 0);
  const vertexCount = total("vertices");

  let offset = end;
  const floats = (length) => {
    const view = new Float32Array(bytes, offset, length);
    offset += view.byteLength;
    return view;
  };
  const poses = floats(POSE_NUMBERS * links);
  const vertices = floats(3 * vertexCount);
  const pressures = floats(vertexCount);
  const counts = new Uint8Array(bytes, offset, total("faces"));
  let first = 0;
  for (const patch of header.patches) {
    patch.corners = vertices.subarray(first, (first += 3 * patch.vertices));
  }
  return { ...header, poses, vertices, pressures, counts };
}

/**
 * Decode the header of a frame, which needs no scene.
 * @param {ArrayBuffer} bytes
 * @returns {FrameHeader}
 */
export function frameHeader(bytes) {
  return decodeHeader(bytes).header;
}

function decodeHeader(bytes) {
  const end = 4 + new DataView(bytes).getUint32(0, true);
  return { header: JSON.parse(new TextDecoder().decode(bytes.slice(4, end))), end };
}

/**
 * @param {ArrayBuffer} bytes `<u32 V><u32 T><f32 positions 3V><f32 normals 3V><u32 indices 3T>`.
 * @returns {{positions: Float32Array, normals: Float32Array, indices: Uint32Array}}
 */
export function decodeMesh(bytes) {
  const [vertices, triangles] = new Uint32Array(bytes, 0, 2);
  return {
    positions: new Float32Array(bytes, 8, 3 * vertices),
    normals: new Float32Array(bytes, 8 + 12 * vertices, 3 * vertices),
    indices: new Uint32Array(bytes, 8 + 24 * vertices, 3 * triangles),
  };
}
