// Where this page stands in a frame of another of its origin: that one is told what the element tells, and says how it is to be.

const EVENTS = ["state", "rights", "size", "clipboard", "pointer", "acted", "desktop", "microphone", "statistics"];
const ATTRIBUTES = ["watch", "sound", "microphone", "trackpad", "statistics", "resize", "quiet-agent", "codec-map"];

/** @param {import("./tandem-view.js").TandemView} view */
export function join(view) {
  if (parent === window) return;
  for (const name of EVENTS) {
    view.addEventListener(name, (event) => parent.postMessage({ tandem: name, ...(/** @type {CustomEvent} */ (event).detail) }, location.origin));
  }
  addEventListener("message", ({ origin, source, data }) => {
    if (origin === location.origin && source === parent) heard(view, data);
  });
}

/**
 * @param {import("./tandem-view.js").TandemView} view
 * @param {any} data what the other page says; anything else than below is left alone
 */
function heard(view, data) {
  if (data?.tandem === "set" && ATTRIBUTES.includes(data.name)) view.toggleAttribute(data.name, Boolean(data.on));
  else if (data?.tandem === "type" || data?.tandem === "paste") view[/** @type {"type" | "paste"} */ (data.tandem)](String(data.text));
  else if (data?.tandem === "focus") view.focus();
}
