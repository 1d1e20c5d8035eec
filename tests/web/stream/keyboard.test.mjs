// The keyboard: keys, composed text and pastes, in their order.

import assert from "node:assert/strict";
import { beforeEach, test } from "node:test";

import { El, globals, openDocument } from "../browser/dom.mjs";
import { settled } from "../browser/network.mjs";

openDocument();
globals({ navigator: { platform: "Linux x86_64", userAgent: "" }, window: globalThis });
const { Keyboard } = await import("/static/stream/keyboard.js");
globals({ navigator: { platform: "MacIntel", userAgent: "" } });
const { Keyboard: MacKeyboard } = await import("/static/stream/keyboard.js?mac");
const { encode } = await import("/static/stream/wire.js");

const [A, V, CONTROL, SHIFT, BACKSPACE] = [0x61, 0x76, 0xffe3, 0xffe1, 0xff08];

/** @type {any} */
let field;
/** @type {any} */
let keyboard;
/** @type {number[][]} */
let sent = [];

/** @param {any} kind of keyboard */
function plug(kind) {
  sent = [];
  field = new El("textarea");
  keyboard = new kind(field, (message) => sent.push([...new Uint8Array(message)]));
  for (const [name, listener, target] of keyboard.listeners) target.addEventListener(name, listener);
}

beforeEach(() => plug(Keyboard));

/** @param {string} type @param {string} key @param {string} code @param {object} [more] */
function press(type, key, code, more) {
  const event = Object.assign(new Event(type, { cancelable: true }), { key, code, ctrlKey: false, metaKey: false, altKey: false, isComposing: false, location: 0, ...more });
  field.dispatchEvent(event);
  return event;
}
/** @param {string} type @param {object} fields */
const tell = (type, fields) => field.dispatchEvent(Object.assign(new Event(type, { cancelable: true }), fields));
/** @param {ArrayBuffer[]} messages */
const bytes = (...messages) => messages.map((message) => [...new Uint8Array(message)]);
const down = (keysym) => encode.key(keysym, true);
const up = (keysym) => encode.key(keysym, false);

test("a key goes down once however often it repeats, and up as what it went down as", async () => {
  assert.equal(press("keydown", "a", "KeyA").defaultPrevented, true);
  press("keydown", "a", "KeyA");
  press("keyup", "A", "KeyA");
  await settled();
  assert.deepEqual(sent, bytes(down(A), up(A)));
});

test("a key that is held since before the focus came does not go down here", async () => {
  press("keydown", "Enter", "Enter", { repeat: true });
  press("keyup", "Enter", "Enter");
  await settled();
  assert.deepEqual(sent, []);
});

test("a key that went down elsewhere does not go up here", async () => {
  press("keyup", "a", "KeyA");
  await settled();
  assert.deepEqual(sent, []);
});

test("keys that are held go up when the focus is lost", async () => {
  press("keydown", "Shift", "ShiftLeft", { location: 1 });
  press("keydown", "a", "KeyA");
  tell("blur", {});
  await settled();
  assert.deepEqual(sent, bytes(down(SHIFT), down(A), up(SHIFT), up(A)));
});

test("composed text is sent as text, and the keys that composed it are not", async () => {
  press("keydown", "Process", "KeyN");
  press("keydown", "n", "KeyN", { isComposing: true });
  tell("compositionend", { data: "日本" });
  await settled();
  assert.deepEqual(sent, bytes(encode.text("日本")));
});

test("the letter after a dead key is left to the text that follows", async () => {
  press("keydown", "Dead", "BracketLeft");
  press("keydown", "e", "KeyE");
  tell("compositionend", { data: "é" });
  press("keydown", "a", "KeyA");
  await settled();
  assert.deepEqual(sent, bytes(encode.text("é"), down(A)));
});

test("what a phone writes and deletes without keys is typed", async () => {
  tell("input", { inputType: "insertText", data: "a" });
  tell("input", { inputType: "deleteContentBackward", data: null });
  tell("input", { inputType: "insertCompositionText", data: "x" });
  await settled();
  assert.deepEqual(sent, bytes(down(A), up(A), down(BACKSPACE), up(BACKSPACE)));
  assert.equal(field.value.length, 2, "there is something to delete again");
});

/** @param {string} text */
const clipboard = (text) => ({ clipboardData: { getData: (type) => (type === "text/plain" ? text : ""), files: [] } });

test("what is pasted is on the desktop's clipboard before the key that pastes it", async () => {
  press("keydown", "Control", "ControlLeft", { location: 1, ctrlKey: true });
  assert.equal(press("keydown", "v", "KeyV", { ctrlKey: true }).defaultPrevented, false, "so that the browser pastes");
  tell("paste", clipboard("text"));
  press("keyup", "v", "KeyV", { ctrlKey: true });
  await settled();
  assert.deepEqual(sent, bytes(down(CONTROL), encode.clip({ "text/plain": new TextEncoder().encode("text") }), down(V), up(V)));
});

test("a browser that pastes nothing holds the key up for a moment alone", async (t) => {
  t.mock.timers.enable({ apis: ["setTimeout"] });
  press("keydown", "v", "KeyV", { ctrlKey: true });
  await settled();
  assert.deepEqual(sent, []);
  t.mock.timers.tick(300);
  await settled();
  assert.deepEqual(sent, bytes(down(V)));
});

test("a paste from a menu is shared without a key", async () => {
  tell("paste", clipboard("text"));
  await settled();
  assert.deepEqual(sent, bytes(encode.clip({ "text/plain": new TextEncoder().encode("text") })));
});

test("on a Mac Command is Control, and a key that is pressed with it goes up at once", async () => {
  plug(MacKeyboard);
  press("keydown", "Meta", "MetaLeft", { location: 1, metaKey: true });
  press("keydown", "a", "KeyA", { metaKey: true });
  press("keyup", "Meta", "MetaLeft", { location: 1 });
  await settled();
  assert.deepEqual(sent, bytes(down(CONTROL), down(A), up(A), up(CONTROL)));
});
