// The client of one shell session over /v1/shell/ws: connects, answers pings, and reconnects when the connection is lost.

const FIRST_DELAY_MS = 250;
const LONGEST_DELAY_MS = 8000;
const SESSION_GONE = 4404;
const HELD = 4423;
const NO_ROOM = 4429;
const CLOSED_ON_PURPOSE = 1000;
/** Close codes after which it does not reconnect, with the state that follows. @type {Record<number, "ended" | "refused">} */
const FINAL = { [CLOSED_ON_PURPOSE]: "ended", [SESSION_GONE]: "ended", [HELD]: "refused", [NO_ROOM]: "refused" };

/**
 * @typedef {object} Listener
 * @property {(id: string) => void} session the session's id, on every connect
 * @property {(text: string) => void} output what the terminal shows next
 * @property {(columns: number, rows: number) => void} resize another viewer changed the size
 * @property {(state: "connecting" | "connected" | "lost" | "ended" | "refused", reason?: string) => void} state
 */

export class TerminalConnection {
  /** @type {WebSocket | undefined} */
  #socket;
  #delay = FIRST_DELAY_MS;
  #timer = 0;
  #reason = "";

  /**
   * @param {string} session its id; empty for a new session
   * @param {Listener} listener
   */
  constructor(session, listener) {
    this.session = session;
    this.listener = listener;
    this.#connect();
  }

  /** @param {string} text that was typed */
  type(text) {
    this.#send({ type: "input", data: text });
  }

  /**
   * @param {number} columns
   * @param {number} rows
   */
  resize(columns, rows) {
    this.#send({ type: "resize", data: { cols: columns, rows } });
  }

  /** Disconnect; the session lives on. */
  close() {
    clearTimeout(this.#timer);
    const socket = this.#socket;
    this.#socket = undefined;
    socket?.close(CLOSED_ON_PURPOSE);
  }

  #connect() {
    this.listener.state("connecting");
    this.#reason = "";
    const address = new URL("/v1/shell/ws", location.href);
    address.protocol = address.protocol.replace("http", "ws");
    if (this.session) address.searchParams.set("session_id", this.session);
    const socket = new WebSocket(address);
    socket.onmessage = (event) => this.#take(JSON.parse(event.data));
    socket.onclose = (event) => this.#ended(socket, event);
    this.#socket = socket;
  }

  /** @param {{type: string, data?: any, timestamp?: number}} message */
  #take(message) {
    if (message.type === "session_id") {
      this.session = message.data;
      this.listener.session(message.data);
    } else if (message.type === "ready") {
      this.#delay = FIRST_DELAY_MS;
      this.listener.state("connected");
    } else if (message.type === "output") {
      this.listener.output(message.data);
    } else if (message.type === "resize") {
      this.listener.resize(message.data.cols, message.data.rows);
    } else if (message.type === "ping") {
      this.#send({ type: "pong", data: { timestamp: message.timestamp } });
    } else if (message.type === "error") {
      this.#reason = message.data;
    }
  }

  /** @param {object} message */
  #send(message) {
    if (this.#socket?.readyState === WebSocket.OPEN) this.#socket.send(JSON.stringify(message));
  }

  /**
   * @param {WebSocket} socket
   * @param {CloseEvent} event
   */
  #ended(socket, event) {
    if (socket !== this.#socket) return;
    this.#socket = undefined;
    if (event.code in FINAL) {
      this.listener.state(FINAL[event.code], this.#reason || event.reason);
      return;
    }
    this.listener.state("lost", this.#reason || event.reason);
    this.#timer = setTimeout(() => this.#connect(), this.#delay);
    this.#delay = Math.min(this.#delay * 2, LONGEST_DELAY_MS);
  }
}
