// The shared worker of all pages: keeps their one connection to /v1/events.

import { SharedEvents } from "./shared_events.js";

const events = new SharedEvents();
addEventListener("connect", (event) => events.add(/** @type {MessageEvent} */ (event).ports[0]));
