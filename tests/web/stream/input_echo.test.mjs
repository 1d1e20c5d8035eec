// The echo of the agent's input: marks of their kind, at their place, that fade.

import assert from "node:assert/strict";
import { beforeEach, test } from "node:test";

import { globals, openDocument } from "../browser/dom.mjs";

const body = openDocument();
const { InputEcho } = await import("/static/stream/input_echo.js");
const { DRAGGED, KEYS, TYPED } = await import("/static/stream/wire.js");
const [LEFT, MIDDLE, RIGHT, DOWN] = [1, 2, 3, 5];

/** @type {any} */
let area;
/** @type {any} */
let echo;

beforeEach(() => {
  const screen = document.createElement("div");
  body.replaceChildren(screen);
  echo = new InputEcho(screen, () => ({ width: 1000, height: 500 }));
  area = screen.firstElementChild;
});

/** @param {object} input */
const show = (input) => echo.show({ what: LEFT, times: 1, x: 250, y: 100, keys: "", path: [], ...input });
const marks = () => area.querySelectorAll("svg");
const shapes = (mark) => mark.children.map(({ localName, className }) => `${localName}.${className}`);

test("a click is marked in the middle of its pixel", () => {
  show({});
  const [mark] = marks();
  assert.deepEqual([mark.style.left, mark.style.top], ["25.05%", "20.1%"]);
  assert.deepEqual(shapes(mark), ["circle.edge", "circle.line", "circle.full"]);
});

test("a double click has two rings, the right button a square, the middle a larger dot", () => {
  show({ times: 2 });
  assert.deepEqual(marks().map((mark) => mark.querySelector(".line").getAttribute("r")), ["12", "17"]);
  show({ what: RIGHT });
  assert.deepEqual([marks()[2].className, shapes(marks()[2])], ["mark right", ["rect.edge", "rect.line"]]);
  show({ what: MIDDLE });
  assert.equal(marks()[3].querySelector(".full").getAttribute("r"), "6");
});

test("the wheel is an arrow in its direction", () => {
  show({ what: DOWN });
  const [mark] = marks();
  assert.equal(mark.querySelector("path").getAttribute("transform"), "rotate(180 22 22)");
  assert.deepEqual(mark.animations[0].keyframes[1], { transform: "translate(0px, 18px)" });
});

test("a drag is a line with a dot at its end, and one without a way is nothing", () => {
  show({ what: DRAGGED, path: [{ x: 1, y: 2 }, { x: 249, y: 4 }] });
  const [line, end] = marks();
  assert.deepEqual([line.querySelector("polyline").getAttribute("points"), line.getAttribute("viewBox"), end.style.left], ["1,2 249,4", "0 0 1000 500", "24.95%"]);
  show({ what: DRAGGED, path: [{ x: 1, y: 2 }] });
  assert.equal(marks().length, 2);
});

test("hotkeys are named, what is typed is not", () => {
  const caption = area.querySelector("output");
  show({ what: KEYS, keys: "Ctrl+→" });
  assert.equal(caption.textContent, "Ctrl+→");
  show({ what: TYPED, keys: "hunter2" });
  assert.equal(caption.textContent, "typing…");
});

test("a mark is gone when it has faded, and no more than 24 are shown", () => {
  show({});
  marks()[0].animations.at(-1).onfinish();
  assert.equal(marks().length, 0);
  for (let time = 0; time < 60; time++) show({});
  assert.equal(marks().length, 24);
});

test("who prefers no motion sees marks that fade in place", () => {
  show({});
  assert.equal(marks()[0].animations.length, 2);
  globals({ matchMedia: () => ({ matches: true }) });
  show({});
  assert.equal(marks()[1].animations.length, 1);
});

test("everything is gone when somebody else drives", () => {
  show({ times: 3 });
  echo.clear();
  assert.deepEqual(area.children.map(({ localName }) => localName), ["output"]);
});
