// Connects the element with the page around its iframe: events go up, attributes and text come down. Both pages have the same origin.

const EVENTS = ["state", "rights", "size", "clipboard", "pointer", "acted", "desktop", "microphone", "statistics"];
const ATTRIBUTES = ["watch", "sound", "microphone", "trackpad", "statistics", "resize", "quiet-agent", "codec-map"];

/** @param {import("./tandem-view.js").TandemView} view */
export function bridgeToParent(view) {
  if (parent === window) return;
  for (const name of EVENTS) {
    view.addEventListener(name, (event) => parent.postMessage({ tandem: name, ...(/** @type {CustomEvent} */ (event).detail) }, location.origin));
  }
  addEventListener("message", ({ origin, source, data }) => {
    if (origin === location.origin && source === parent) handle(view, data);
  });
}

/**
 * @param {import("./tandem-view.js").TandemView} view
 * @param {any} data of the page around it; an unknown message is ignored
 */
function handle(view, data) {
  if (data?.tandem === "set" && ATTRIBUTES.includes(data.name)) view.toggleAttribute(data.name, Boolean(data.on));
  else if (data?.tandem === "type" || data?.tandem === "paste") view[/** @type {"type" | "paste"} */ (data.tandem)](String(data.text));
  else if (data?.tandem === "focus") view.focus();
}
