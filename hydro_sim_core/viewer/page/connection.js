// The WebSocket to the server, reconnected as long as the page is open.

const FIRST_WAIT = 250; // ms
const LONGEST_WAIT = 4000; // ms

/** Events: "state" (connecting, live, lost, refused), "text" (a parsed message), "frame" (an ArrayBuffer). */
export class Connection extends EventTarget {
  constructor() {
    super();
    this.bytes = 0;
    this.state = "connecting";
    this._wait = FIRST_WAIT;
    this._open();
  }

  /** @param {object} message Dropped while disconnected: a late command is worse than none. */
  send(message) {
    if (this._socket.readyState === WebSocket.OPEN) this._socket.send(JSON.stringify(message));
  }

  _open() {
    const socket = new WebSocket(new URL("ws", location.href.replace(/^http/, "ws").replace(/[?#].*$/, "")));
    socket.binaryType = "arraybuffer";
    socket.onmessage = ({ data }) => this._receive(data);
    socket.onclose = () => this._retry();
    this._socket = socket;
  }

  _receive(data) {
    this._wait = FIRST_WAIT;
    this._enter("live");
    if (data instanceof ArrayBuffer) {
      this.bytes = data.byteLength;
      this._tell("frame", data);
    } else {
      this._tell("text", JSON.parse(data));
    }
  }

  _retry() {
    if (this.state !== "refused") this._enter("lost");
    this._askWhy();
    setTimeout(() => this._open(), this._wait * (0.75 + 0.5 * Math.random()));
    this._wait = Math.min(1.6 * this._wait, LONGEST_WAIT);
  }

  /** Another simulation may be served here now, with a token that this page does not have. */
  async _askWhy() {
    const response = await fetch("/", { cache: "no-store" }).catch(() => null);
    if (this.state !== "live") this._enter(response?.status === 403 ? "refused" : "lost");
  }

  _enter(state) {
    if (state === this.state) return;
    this.state = state;
    this._tell("state", state);
  }

  _tell(type, detail) {
    this.dispatchEvent(new CustomEvent(type, { detail }));
  }
}
