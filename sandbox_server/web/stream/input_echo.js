// Input echo: draws the agent's input over the picture for whoever watches. Clicks, drags, the wheel and hotkeys have a mark each.

import { DRAGGED, KEYS, TYPED } from "./wire.js";

/** @typedef {{what: number, times: number, x: number, y: number, keys: string, path: {x: number, y: number}[]}} AgentInput */

const MIDDLE = 2;
const RIGHT = 3;
/** The wheel's buttons (up, down, left, right), and the angle of an arrow that points up. */
const WHEEL = new Map([[4, 0], [5, 180], [6, 270], [7, 90]]);

const CLICK_MS = 900;
const RING_DELAY_MS = 130;
const WHEEL_MS = 600;
const DRAG_MS = 1600;
const KEYS_MS = 1800;
const TYPED_MS = 1200;
const MAX_MARKS = 24;
const SVG = "http://www.w3.org/2000/svg";

export const STYLE = `
  .input-echo { position: absolute; inset: 0; overflow: hidden; pointer-events: none; contain: strict; --mark: #2fd3a6; --edge: #0b0e10d0 }
  .input-echo svg { position: absolute; overflow: visible; fill: none; stroke-linecap: round; stroke-linejoin: round }
  .input-echo .mark { width: 44px; height: 44px; margin: -22px 0 0 -22px }
  .input-echo .edge { stroke: var(--edge); stroke-width: 6 }
  .input-echo .line { stroke: var(--mark); stroke-width: 3 }
  .input-echo .full { fill: var(--mark); stroke: var(--edge); stroke-width: 1.5 }
  .input-echo .right { --mark: #ffb454 }
  .input-echo .middle { --mark: #7fb4ff }
  .input-echo .drag { inset: 0; width: 100%; height: 100% }
  .input-echo .drag * { vector-effect: non-scaling-stroke }
  .input-echo output { position: absolute; left: 50%; bottom: 14px; max-width: 90%; padding: .3em .8em; border: 1px solid #ffffff40; border-radius: .6em;
    background: #14181cE6; color: #f4f6f8; font: 600 clamp(12px, 1.6vmin, 16px)/1.4 system-ui; white-space: nowrap; transform: translateX(-50%); opacity: 0 }
`;

export class InputEcho {
  #area = made("div", "input-echo");
  #caption = document.createElement("output");
  /** @type {Animation | undefined} */
  #fading;

  /**
   * @param {HTMLElement} screen as large as the picture is shown
   * @param {() => {width: number, height: number}} size of the desktop's screen in pixels
   */
  constructor(screen, size) {
    this.size = size;
    this.#area.setAttribute("aria-hidden", "true");
    this.#area.append(this.#caption);
    screen.append(this.#area);
  }

  /** @param {AgentInput} act */
  show(act) {
    if (act.what === DRAGGED) this.#drag(act.path);
    else if (act.what === KEYS) this.#showCaption(act.keys, KEYS_MS);
    else if (act.what === TYPED) this.#showCaption("typing…", TYPED_MS);
    else if (WHEEL.has(act.what)) this.#wheel(act);
    else this.#click(act);
  }

  /** Remove every mark: somebody else drives now. */
  clear() {
    this.#area.replaceChildren(this.#caption);
    this.#fading?.cancel();
  }

  /** The left button is a ring, with one more for each click in a row; the right a square; the middle a ring with a dot. @param {AgentInput} act */
  #click({ what, times, x, y }) {
    const look = what === RIGHT ? "right" : what === MIDDLE ? "middle" : "";
    for (let ring = 0; ring < times; ring++) {
      const mark = this.#mark(x, y, look);
      /** @type {{tag: string, [name: string]: string | number}} */
      const outline = what === RIGHT ? { tag: "rect", x: 10, y: 10, width: 24, height: 24, rx: 5 } : { tag: "circle", cx: 22, cy: 22, r: 12 + 5 * ring };
      mark.append(drawn({ ...outline, class: "edge" }), drawn({ ...outline, class: "line" }));
      if (what !== RIGHT && ring === 0) mark.append(drawn({ tag: "circle", cx: 22, cy: 22, r: what === MIDDLE ? 6 : 3, class: "full" }));
      const grows = what === RIGHT || ring === 0 ? [{ transform: "scale(.45)" }, { transform: "scale(1)", offset: 0.25 }, { transform: "scale(1.15)" }] : [];
      this.#fade(mark, CLICK_MS, grows, ring * RING_DELAY_MS);
    }
  }

  /** @param {AgentInput} act */
  #wheel({ what, x, y }) {
    const mark = this.#mark(x, y, "");
    const rotation = { transform: `rotate(${WHEEL.get(what)} 22 22)` };
    for (const look of ["edge", "line"]) mark.append(drawn({ tag: "path", d: "M13 20l9-9 9 9M13 31l9-9 9 9", class: look, ...rotation }));
    const [dx, dy] = { 4: [0, -1], 5: [0, 1], 6: [-1, 0], 7: [1, 0] }[/** @type {4 | 5 | 6 | 7} */ (what)];
    this.#fade(mark, WHEEL_MS, [{ transform: "none" }, { transform: `translate(${dx * 18}px, ${dy * 18}px)` }]);
  }

  /** @param {{x: number, y: number}[]} path */
  #drag(path) {
    if (path.length < 2) return;
    const { width, height } = this.size();
    const way = document.createElementNS(SVG, "svg");
    way.setAttribute("class", "drag");
    way.setAttribute("viewBox", `0 0 ${width} ${height}`);
    way.setAttribute("preserveAspectRatio", "none");
    const points = path.map(({ x, y }) => `${x},${y}`).join(" ");
    for (const look of ["edge", "line"]) way.append(drawn({ tag: "polyline", points, class: look }));
    this.#add(way);
    this.#fade(way, DRAG_MS, []);
    const last = path[path.length - 1];
    const end = this.#mark(last.x, last.y, "");
    end.append(drawn({ tag: "circle", cx: 22, cy: 22, r: 6, class: "full" }));
    this.#fade(end, DRAG_MS, []);
  }

  /** @param {string} text @param {number} milliseconds */
  #showCaption(text, milliseconds) {
    this.#caption.textContent = text;
    this.#fading?.cancel();
    this.#fading = this.#caption.animate([{ opacity: 1 }, { opacity: 1, offset: 0.8 }, { opacity: 0 }], milliseconds);
  }

  /** @param {number} x @param {number} y @param {string} look */
  #mark(x, y, look) {
    const { width, height } = this.size();
    const mark = document.createElementNS(SVG, "svg");
    mark.setAttribute("class", `mark ${look}`);
    mark.setAttribute("viewBox", "0 0 44 44");
    mark.style.left = `${((x + 0.5) / width) * 100}%`;
    mark.style.top = `${((y + 0.5) / height) * 100}%`;
    this.#add(mark);
    return mark;
  }

  /** @param {SVGElement} mark */
  #add(mark) {
    while (this.#area.childElementCount > MAX_MARKS) this.#area.children[1].remove();
    this.#area.append(mark);
  }

  /**
   * Fade a mark out. It grows or moves unless the person prefers reduced motion.
   * @param {SVGElement} mark
   * @param {number} milliseconds
   * @param {Keyframe[]} moves
   */
  #fade(mark, milliseconds, moves, delay = 0) {
    const duration = { duration: milliseconds, delay, fill: /** @type {FillMode} */ ("both"), easing: "ease-out" };
    if (moves.length && !matchMedia("(prefers-reduced-motion: reduce)").matches) mark.animate(moves, duration);
    const fading = mark.animate([{ opacity: 1 }, { opacity: 1, offset: 0.6 }, { opacity: 0 }], duration);
    fading.onfinish = () => mark.remove();
  }
}

/** @param {string} tag @param {string} look */
function made(tag, look) {
  const element = document.createElement(tag);
  element.className = look;
  return element;
}

/** @param {{tag: string, [name: string]: string | number}} shape */
function drawn({ tag, ...attributes }) {
  const element = document.createElementNS(SVG, tag);
  for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, String(value));
  return element;
}
