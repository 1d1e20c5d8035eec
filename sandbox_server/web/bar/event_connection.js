// One connection to /v1/events: who drives, what is asked of people, which ports are open and what the sandbox connects to.

import { EventStream } from "/static/event_stream.js";

export const EVENTS = /** @type {const} */ (["control", "handoffs", "ports", "egress"]);

/** @typedef {typeof EVENTS[number]} EventName */
/** @typedef {import("/static/event_stream.js").EventListener<EventName>} EventListener */

/** @param {EventListener} listener */
export const eventConnection = (listener) => new EventStream(() => "/v1/events", EVENTS, listener);
