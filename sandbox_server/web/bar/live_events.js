// What this page follows: who drives, what is asked of people, which ports are open and what the sandbox connects to. The pages of one browser share a connection where it has shared workers.

import { EventStream } from "/static/event_stream.js";

const EVENTS = /** @type {const} */ (["control", "handoffs", "ports", "egress"]);

/** @typedef {typeof EVENTS[number]} EventName */
/** @typedef {import("/static/event_stream.js").EventListener<EventName>} EventListener */
/**
 * @typedef {object} Following
 * @property {(change: import("./lease.js").Change, age: number) => void} control `age`: milliseconds since the server sent it
 * @property {(open: import("../requests/handoff.js").Handoff[]) => void} handoffs
 * @property {(open: {port: number, process: {command: string} | null, url: string}[]) => void} ports
 * @property {(told: import("../network/network_client.js").EgressNews) => void} egress
 * @property {(reason: import("/static/event_stream.js").Broken) => void} broken
 */

/** Follow for as long as the page is there. @param {string} caller who is signed in here @param {Following} listener */
export function followEvents(caller, listener) {
  if (!globalThis.SharedWorker) return alone(listener);
  const worker = new SharedWorker(new URL("./events_worker.js", import.meta.url), { type: "module" });
  const { port } = worker;
  const hurry = () => port.postMessage({ hurry: true });
  worker.onerror = () => {
    port.close();
    alone(listener);
  };
  port.onmessage = ({ data }) => {
    if ("broken" in data) listener.broken(data.broken);
    else listener[/** @type {"control"} */ (data.name)](data.data, data.age);
  };
  port.postMessage({ follow: caller });
  addEventListener("pagehide", () => port.postMessage({ leave: true }));
  addEventListener("pageshow", (event) => {
    if (event.persisted) port.postMessage({ follow: caller });
  });
  whenBack(hurry);
}

/** One connection to all of them. @param {EventListener} listener */
export const eventConnection = (listener) => new EventStream(() => "/v1/events", EVENTS, listener);

/** Follow over a connection of this page's own. @param {Following} listener */
function alone(listener) {
  const connection = eventConnection({
    event: (name, data) => listener[/** @type {"control"} */ (name)](data, 0),
    broken: (reason) => listener.broken(reason),
  });
  connection.open();
  whenBack(() => connection.hurry());
}

/** @param {() => void} act when the network or the person is back */
function whenBack(act) {
  addEventListener("online", act);
  document.addEventListener("visibilitychange", () => {
    if (!document.hidden) act();
  });
}
