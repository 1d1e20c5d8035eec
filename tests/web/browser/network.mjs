// The network of a page: requests that a test answers, event streams and WebSockets that it drives.

import { globals } from "./dom.mjs";

/**
 * Answer each request with what a function says.
 * @param {(method: string, path: string, body: any, headers: Record<string, string>) => any} answer a value for the envelope's data; a Response as it is; what is thrown fails the request
 * @returns {{method: string, path: string, body: any}[]} what was asked so far
 */
export function answering(answer) {
  /** @type {{method: string, path: string, body: any}[]} */
  const asked = [];
  globals({
    fetch: async (path, { method = "GET", body = undefined, headers = {} } = {}) => {
      const sent = typeof body === "string" ? JSON.parse(body) : body;
      asked.push({ method, path, body: sent });
      const data = await answer(method, path, sent, headers);
      return data instanceof Response ? data : Response.json({ success: true, message: "", data: data ?? null, hint: null });
    },
  });
  return asked;
}

/** A refusal in the API's shape. @param {number} status @param {string} message */
export const refusing = (status, message) => Response.json({ success: false, message, data: null, hint: null }, { status });

/** An EventSource that a test tells events. */
export class Events extends EventTarget {
  static CLOSED = 2;
  /** @type {Events[]} those that were opened */
  static opened = [];
  readyState = 1;

  /** @param {string} url */
  constructor(url) {
    super();
    this.url = url;
    Events.opened.push(this);
  }

  /** @param {string} type @param {unknown} data */
  tell(type, data) {
    this.dispatchEvent(new MessageEvent(type, { data: JSON.stringify(data) }));
  }

  /** @param {number} readyState */
  fail(readyState) {
    this.readyState = readyState;
    this.dispatchEvent(new Event("error"));
  }

  close() {
    this.readyState = Events.CLOSED;
  }
}

/** A WebSocket whose other end is a test. */
export class Socket extends EventTarget {
  static OPEN = 1;
  /** @type {Socket[]} those that were opened */
  static opened = [];
  readyState = 0;
  /** @type {any[]} */
  sent = [];
  /** @type {any} */
  onopen = null;
  /** @type {any} */
  onmessage = null;
  /** @type {any} */
  onclose = null;

  /** @param {string | URL} address */
  constructor(address) {
    super();
    this.address = String(address);
    Socket.opened.push(this);
  }

  static get last() {
    return /** @type {Socket} */ (Socket.opened.at(-1));
  }

  /** @param {any} data */
  send(data) {
    this.sent.push(data);
  }

  /** @param {number} [code] */
  close(code) {
    this.readyState = 3;
    this.closedWith = code ?? 1005;
  }

  open() {
    this.readyState = Socket.OPEN;
    this.onopen?.();
  }

  /** @param {any} data */
  tell(data) {
    this.onmessage?.({ data });
  }

  /** @param {number} code @param {string} [reason] */
  end(code, reason = "") {
    this.readyState = 3;
    const event = Object.assign(new Event("close"), { code, reason });
    this.onclose?.(event);
    this.dispatchEvent(event);
  }
}

/** Let everything that is promised come to pass. */
export async function settled() {
  for (let turn = 0; turn < 20; turn++) await new Promise((done) => setImmediate(done));
}
