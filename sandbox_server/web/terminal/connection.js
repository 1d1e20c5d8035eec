// The client of one shell session over /v1/shell/ws: connects, answers pings, and reconnects when the connection is lost.

import { isBlocked } from "/static/websocket_check.js";

const FIRST_DELAY_MS = 250;
const LONGEST_DELAY_MS = 8000;
/** How often a connection fails before it is asked whether this network lets WebSockets through at all. */
const BLOCKED_AFTER = 2;
const SESSION_GONE = 4404;
const HELD = 4423;
const NO_ROOM = 4429;
const CLOSED_ON_PURPOSE = 1000;
/** Close codes after which it does not reconnect, with the state that follows. @type {Record<number, "ended" | "held" | "full">} */
const FINAL = { [CLOSED_ON_PURPOSE]: "ended", [SESSION_GONE]: "ended", [HELD]: "held", [NO_ROOM]: "full" };

/**
 * `none`: there is no session yet; `ended`: it was closed; `full`: there is no room for a new one; `held`: a person keeps programs from one;
 * `blocked`: this network lets no WebSocket through.
 * @typedef {"connecting" | "connected" | "lost" | "blocked" | "none" | "ended" | "full" | "held"} TerminalState
 */

/**
 * @typedef {object} Listener
 * @property {(id: string) => void} session the session's id, on every connect
 * @property {(text: string) => void} output what the terminal shows next
 * @property {(columns: number, rows: number) => void} resize another viewer changed the size
 * @property {(state: TerminalState) => void} state
 * @property {(reason: string) => void} refused something that was sent did nothing, and why
 */

export class TerminalConnection {
  /** @type {WebSocket | undefined} */
  #socket;
  #delay = FIRST_DELAY_MS;
  #timer = 0;
  #ready = false;
  /** How often no connection came about; undefined once one has. @type {number | undefined} */
  #failures = 0;
  #blocked = false;

  /**
   * @param {string} session its id; empty for a new session, or for the one that was used last
   * @param {boolean} create whether a session is made where there is none to show
   * @param {Listener} listener
   */
  constructor(session, create, listener) {
    this.session = session;
    this.create = create;
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
    if (this.#failures === 0) this.listener.state("connecting");
    this.#ready = false;
    const address = new URL("/v1/shell/ws", location.href);
    address.protocol = address.protocol.replace("http", "ws");
    if (this.session) address.searchParams.set("session_id", this.session);
    if (!this.create) address.searchParams.set("create", "false");
    const socket = new WebSocket(address);
    socket.onopen = () => (this.#failures = undefined);
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
      this.#ready = true;
      this.#blocked = false;
      this.listener.state("connected");
    } else if (message.type === "output") {
      this.listener.output(message.data);
    } else if (message.type === "resize") {
      this.listener.resize(message.data.cols, message.data.rows);
    } else if (message.type === "ping") {
      this.#send({ type: "pong", data: { timestamp: message.timestamp } });
    } else if (message.type === "error" && this.#ready) {
      this.listener.refused(message.data);
    }
  }

  /** @param {object} message */
  #send(message) {
    if (this.#socket?.readyState === WebSocket.OPEN) this.#socket.send(JSON.stringify(message));
  }

  /** @param {string} address */
  async #checkBlocked(address) {
    if (this.#blocked || !(await isBlocked(address)) || this.#failures === undefined) return;
    this.#blocked = true;
    this.listener.state("blocked");
  }

  /**
   * @param {WebSocket} socket
   * @param {CloseEvent} event
   */
  #ended(socket, event) {
    if (socket !== this.#socket) return;
    this.#socket = undefined;
    if (event.code in FINAL) {
      this.listener.state(event.code === SESSION_GONE && !this.session ? "none" : FINAL[event.code]);
      return;
    }
    if (this.#failures === undefined) this.listener.state("lost");
    else if (++this.#failures >= BLOCKED_AFTER) this.#checkBlocked(socket.url);
    this.#timer = setTimeout(() => this.#connect(), this.#delay);
    this.#delay = Math.min(this.#delay * 2, LONGEST_DELAY_MS);
  }
}
