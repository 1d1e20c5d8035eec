// Opens a WebSocket: each try has a time limit, and the next one follows after a longer pause, until one opens.

const FIRST_DELAY_MS = 250;
const LONGEST_DELAY_MS = 4000;
const OPEN_MS = 5000;

/**
 * @typedef {object} OpenerListener
 * @property {(socket: WebSocket) => void} opened
 * @property {(code: number, reason: string) => void} failed one try did not open
 */

export class SocketOpener {
  #delay = FIRST_DELAY_MS;
  /** @type {ReturnType<typeof setTimeout> | undefined} */
  #timer;
  /** @type {WebSocket | undefined} */
  #socket;

  /**
   * @param {string} address
   * @param {OpenerListener} listener
   */
  constructor(address, listener) {
    this.address = address;
    this.listener = listener;
  }

  /** Try now. */
  open() {
    this.stop();
    const socket = new WebSocket(this.address);
    socket.binaryType = "arraybuffer";
    socket.onopen = () => this.#opened(socket);
    socket.onclose = ({ code, reason }) => this.#failed(socket, code, reason);
    this.#socket = socket;
    this.#timer = setTimeout(() => this.#failed(socket, 0, ""), OPEN_MS);
  }

  /** Try in a while, each time in a longer one. */
  openLater() {
    this.stop();
    this.#timer = setTimeout(() => this.open(), this.#delay);
    this.#delay = Math.min(LONGEST_DELAY_MS, this.#delay * 2);
  }

  /** The server has answered: the next pause is short again. */
  answered() {
    this.#delay = FIRST_DELAY_MS;
  }

  /** Try no more. */
  stop() {
    clearTimeout(this.#timer);
    const socket = this.#socket;
    this.#socket = undefined;
    socket?.close();
  }

  /** @param {WebSocket} socket */
  #opened(socket) {
    if (socket !== this.#socket) return;
    this.#socket = undefined;
    clearTimeout(this.#timer);
    this.listener.opened(socket);
  }

  /**
   * @param {WebSocket} socket
   * @param {number} code
   * @param {string} reason
   */
  #failed(socket, code, reason) {
    if (socket !== this.#socket) return;
    this.stop();
    this.listener.failed(code, reason);
  }
}
