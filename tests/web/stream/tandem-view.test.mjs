// The element: its attributes, what it asks of the worker, and what it tells the page.

import assert from "node:assert/strict";
import { beforeEach, test } from "node:test";

import { El, globals, openDocument } from "../browser/dom.mjs";
import { settled } from "../browser/network.mjs";

/** @type {any} */
let worker;
/** The worker, which is the test. */
class WorkerEnd {
  /** @type {any[]} */
  posted = [];
  constructor(url) {
    this.url = String(url);
    worker = this;
  }
  postMessage(message) {
    this.posted.push(message);
  }
  terminate() {
    this.terminated = true;
  }
}

const body = openDocument();
globals({
  Worker: WorkerEnd,
  ResizeObserver: class {
    constructor(act) {
      /** @type {any} */ (globalThis).resized = act;
    }
    observe() {}
    disconnect() {}
  },
  ImageData: class {
    constructor(width, height) {
      Object.assign(this, { width, height, data: new Uint8ClampedArray(width * height * 4) });
    }
  },
  navigator: { platform: "Linux", userAgent: "" },
  window: globalThis,
  RTCPeerConnection: undefined,
  AudioDecoder: undefined,
});
const { TandemView } = await import("/static/stream/tandem-view.js");
const { encode } = await import("/static/stream/wire.js");

/** @type {any} */
let view;
/** @type {any[]} */
let told = [];

beforeEach(() => {
  told = [];
  view = new TandemView();
  Object.assign(view, { clientWidth: 640, clientHeight: 512 });
  body.replaceChildren(view);
  for (const name of ["state", "rights", "size", "clipboard", "pointer", "acted", "desktop", "statistics"]) {
    view.addEventListener(name, (event) => told.push([name, event.detail]));
  }
});

/** @param {object} [attributes] */
function connect(attributes = {}) {
  for (const [name, value] of Object.entries(attributes)) view.setAttribute(name, value);
  view.connectedCallback();
  worker.posted.length = 0;
}
/** @param {object} message */
const tell = (message) => worker.onmessage({ data: message });
/** @param {object} [more] */
const rights = (more) => tell({ kind: "rights", control: true, driving: false, hidden: false, microphone: false, ...more });
const sent = () => worker.posted.splice(0).filter((message) => message instanceof ArrayBuffer).map((message) => [...new Uint8Array(message)]);
/** @param {ArrayBuffer[]} messages */
const list = (...messages) => messages.map((message) => [...new Uint8Array(message)]);

test("its worker connects to the stream of this sandbox, or where `src` says", () => {
  view.connectedCallback();
  assert.match(worker.url, /\/stream\/worker\.js$/);
  assert.equal(worker.posted[0].address, "ws://box.test:8080/stream/socket");
  const other = /** @type {any} */ (new TandemView());
  other.setAttribute("src", "https://elsewhere.test/stream/socket");
  other.connectedCallback();
  assert.equal(worker.posted[0].address, "wss://elsewhere.test/stream/socket");
});

test("the picture is fitted to the element, and never larger than it is", () => {
  connect();
  tell({ kind: "size", width: 1280, height: 1024 });
  assert.deepEqual([view.screen.style.width, view.screen.style.height, view.size], ["640px", "512px", { width: 1280, height: 1024 }]);
  tell({ kind: "size", width: 320, height: 200 });
  assert.deepEqual([view.screen.style.width, view.screen.style.height], ["320px", "200px"]);
});

test("rights say whether the viewer drives and may take control; `watch` gives that up", () => {
  connect();
  rights({ driving: true });
  assert.deepEqual([view.control, view.driving], [true, true]);
  view.setAttribute("watch", "");
  assert.deepEqual([view.control, view.driving], [false, true]);
  rights({ control: false });
  view.removeAttribute("watch");
  assert.deepEqual([view.control, view.driving], [false, false]);
});

test("a cover hides the desktop while another person is private", () => {
  connect();
  rights({ hidden: true });
  assert.equal(view.cover.hidden, false);
  rights();
  assert.equal(view.cover.hidden, true);
});

test("what the worker tells, the page is told as events", () => {
  connect();
  tell({ kind: "desktop", running: false });
  tell({ kind: "state", state: "lost", code: 1006, reason: "" });
  assert.deepEqual(told, [["desktop", { running: false }], ["state", { state: "lost", code: 1006, reason: "" }]]);
});

test("a connection that comes back is told what the page wants: whether it is visible", () => {
  connect();
  Object.assign(document, { hidden: true });
  tell({ kind: "state", state: "connected" });
  Object.assign(document, { hidden: false });
  document.dispatchEvent(new Event("visibilitychange"));
  assert.deepEqual(sent(), list(encode.visible(false), encode.visible(true)));
});

test("text is pasted as a whole, and typed in messages that the server takes", () => {
  connect();
  view.paste("text");
  view.type("😀".repeat(1001));
  assert.deepEqual(sent(), list(encode.copied("text"), encode.text("😀".repeat(1000)), encode.text("😀")));
});

test("the pointer is drawn where somebody else moves it, and is the browser's own for whoever drives", () => {
  connect();
  tell({ kind: "size", width: 1000, height: 500 });
  tell({ kind: "pointer", x: 250, y: 125 });
  assert.deepEqual([view.pointer.style.left, view.pointer.style.top, view.pointer.hidden], ["25%", "25%", false]);
  rights({ driving: true });
  assert.equal(view.pointer.hidden, true);
  view.setAttribute("trackpad", "");
  assert.equal(view.pointer.hidden, false, "a finger hides no pointer");
});

test("the desktop's cursor has its hot spot, and its colours are not those that X premultiplies", () => {
  connect();
  rights({ driving: true });
  const made = [];
  const make = document.createElement;
  Object.assign(document, { createElement: (name) => (made.push(make(name)), made.at(-1)) });
  tell({ kind: "cursor", width: 1, height: 1, hotX: 3, hotY: 4, pixels: Uint8Array.of(0, 64, 128, 128) });
  Object.assign(document, { createElement: make });
  const [[, image]] = made[0].context.calls;
  assert.deepEqual([...image.data], [255, 128, 0, 128]);
  assert.match(view.screen.style.cursor, /^url\(data:image\/png;base64,\) 3 4, default$/);
});

test("what the agent does is drawn for who watches, and gone for who drives", () => {
  connect();
  const act = { kind: "acted", what: 1, times: 1, x: 1, y: 1, keys: "", path: [] };
  const marks = () => view.screen.querySelectorAll(".mark").length;
  tell(act);
  assert.equal(marks(), 1);
  rights({ driving: true });
  assert.equal(marks(), 0);
  view.setAttribute("quiet-agent", "");
  tell(act);
  assert.equal(marks(), 0);
});

test("what was copied on the desktop is told as text, HTML and a picture", () => {
  connect();
  tell({ kind: "clip", forms: { "text/plain": new TextEncoder().encode("日本"), "image/png": Uint8Array.of(1, 2) } });
  const [[name, { text, html, png }]] = told;
  assert.deepEqual([name, text, html, png.type, png.size], ["clipboard", "日本", "", "image/png", 2]);
});

test("the desktop gets the element's size once it has settled, for whoever drives alone", (t) => {
  t.mock.timers.enable({ apis: ["setTimeout"] });
  connect({ resize: "" });
  rights();
  const resize = (width) => {
    view.clientWidth = width;
    /** @type {any} */ (globalThis).resized();
  };
  resize(700);
  t.mock.timers.tick(300);
  assert.deepEqual(sent(), []);
  rights({ driving: true });
  t.mock.timers.tick(300);
  assert.deepEqual(sent(), list(encode.fit(700, 512)), "it is told who begins to drive, too");
  resize(710);
  t.mock.timers.tick(299);
  resize(720);
  t.mock.timers.tick(300);
  assert.deepEqual(sent(), list(encode.fit(720, 512)));
});

test("video of the track is laid over the picture, and its frames are told to the worker", () => {
  connect();
  tell({ kind: "size", width: 640, height: 512 });
  tell({ kind: "track", do: "place", area: { x: 64, y: 0, width: 64, height: 64 }, timestamp: 1 });
  view.video.post({ kind: "presented", timestamp: 1, age: 2 });
  assert.deepEqual(worker.posted, [{ kind: "presented", timestamp: 1, age: 2 }]);
  view.video.count = 7;
  assert.deepEqual([view.videoFrames, view.filmed], [7, 7], "the former name is still there");
});

test("the codec map is drawn while its attribute is set", () => {
  connect();
  view.setAttribute("codec-map", "");
  assert.deepEqual([worker.posted.pop(), view.screen.querySelectorAll("canvas").length], [{ kind: "map", on: true }, 2]);
  view.removeAttribute("codec-map");
  assert.deepEqual([worker.posted.pop(), view.screen.querySelectorAll("canvas").length], [{ kind: "map", on: false }, 1]);
});

test("statistics are shown while their attribute is set", () => {
  connect();
  tell({ kind: "statistics", frames: 30, late: 1, bytes: 12_500, roundTrip: 4.21, decoding: 12.3, datagrams: true });
  assert.equal(view.shown.textContent, "30 frames/s, 1 late\n100 kbit/s\n4.2 ms there and back\n12 ms to decode and draw\nover UDP");
  assert.equal(view.shown.hidden, true);
  view.setAttribute("statistics", "");
  assert.equal(view.shown.hidden, false);
});

test("sound is asked for where the browser can play it", () => {
  connect();
  view.setAttribute("sound", "");
  assert.deepEqual([sent(), view.heard], [[], 0]);
  globals({
    AudioDecoder: class {},
    AudioWorkletNode: class { connect() {} },
    AudioContext: class {
      audioWorklet = { addModule: async () => undefined };
      async resume() {}
      close() {}
    },
  });
  view.removeAttribute("sound");
  view.setAttribute("sound", "");
  view.removeAttribute("sound");
  assert.deepEqual(sent(), list(encode.listens(true), encode.listens(false)));
});

test("a microphone that the person refuses is told, and its attribute is gone", async () => {
  connect();
  const stub = class { configure() {} close() {} };
  globals({
    AudioEncoder: stub,
    AudioWorkletNode: class {},
    AudioContext: class { close() {} },
    navigator: { platform: "Linux", mediaDevices: { getUserMedia: () => Promise.reject(new Error("denied")) } },
  });
  const reasons = [];
  view.addEventListener("microphone", (event) => reasons.push(event.detail.reason));
  rights({ microphone: true, driving: true });
  assert.equal(view.microphone, true);
  view.setAttribute("microphone", "");
  await settled();
  assert.deepEqual([reasons, view.hasAttribute("microphone")], [["Error: denied"], false]);
});

test("an element that is taken off the page ends its worker, and has another when it is back", () => {
  connect();
  const first = worker;
  const { canvas } = view;
  view.disconnectedCallback();
  assert.equal(first.terminated, true);
  assert.notEqual(view.canvas, canvas, "a canvas is given away once");
  view.connectedCallback();
  assert.notEqual(worker, first);
});

test("an element in the page is the one that its name says", () => {
  assert.ok(document.createElement("tandem-view") instanceof TandemView);
  assert.ok(view instanceof El);
});

test("input is off while the connection has stalled, and what was held is let go once it is back", () => {
  connect();
  rights({ driving: true });
  const press = (name) => view.field.dispatchEvent(Object.assign(new Event(name, { cancelable: true }), { key: "a", code: "KeyA" }));
  tell({ kind: "state", state: "connected" });
  press("keydown");
  return settled().then(async () => {
    sent();
    tell({ kind: "state", state: "stalled" });
    press("keyup");
    await settled();
    assert.deepEqual(sent(), []);
    assert.equal(view.notice.element.textContent, "Reconnecting… your input is not sent");
    tell({ kind: "state", state: "connected" });
    await settled();
    assert.deepEqual(sent(), list(encode.visible(true), encode.key(0x61, false)));
  });
});

test("Tab comes to the screen, and Enter hands the keys on to whom may act", () => {
  connect();
  rights({ control: false });
  const enter = () => view.screen.dispatchEvent(Object.assign(new Event("keydown", { cancelable: true }), { key: "Enter" }));
  assert.deepEqual([view.screen.tabIndex, view.field.tabIndex, view.hint.textContent], [0, -1, "You are watching only."]);
  enter();
  assert.notEqual(document.activeElement, view.field);
  rights();
  assert.equal(view.hint.textContent, "Press Enter to control, Ctrl+Alt+Backspace to leave");
  enter();
  assert.equal(document.activeElement, view.field);
});
