// The codec map: draws over the picture which codec each region was sent with.

/** @typedef {import("./wire.js").Area} Area */

/** @type {Record<string, string>} */
const COLOURS = { exact: "#2ecc71", moves: "#3498db", jpeg: "#f1c40f", video: "#e74c3c", kept: "#9b59b6" };
const FADE_MS = 600;

export class CodecMap {
  /** @type {{kind: string, area: Area, at: number}[]} */
  #rects = [];
  #drawing = 0;

  /**
   * @param {HTMLElement} screen
   * @param {{width: number, height: number}} size
   */
  constructor(screen, size) {
    this.canvas = document.createElement("canvas");
    this.canvas.style.pointerEvents = "none";
    screen.append(this.canvas);
    this.resize(size);
  }

  /** @param {{width: number, height: number}} size */
  resize({ width, height }) {
    this.canvas.width = width;
    this.canvas.height = height;
  }

  /** @param {{kind: string, area: Area}[]} rects */
  show(rects) {
    const at = performance.now();
    this.#rects.push(...rects.map((rect) => ({ ...rect, at })));
    this.#drawing ||= requestAnimationFrame(() => this.#draw());
  }

  remove() {
    cancelAnimationFrame(this.#drawing);
    this.canvas.remove();
  }

  #draw() {
    const now = performance.now();
    const context = /** @type {CanvasRenderingContext2D} */ (this.canvas.getContext("2d"));
    context.clearRect(0, 0, this.canvas.width, this.canvas.height);
    this.#rects = this.#rects.filter(({ at }) => now - at < FADE_MS);
    for (const { kind, area, at } of this.#rects) {
      context.globalAlpha = 0.5 * (1 - (now - at) / FADE_MS);
      context.strokeStyle = context.fillStyle = COLOURS[kind];
      context.strokeRect(area.x + 0.5, area.y + 0.5, area.width - 1, area.height - 1);
      context.globalAlpha /= 3;
      context.fillRect(area.x, area.y, area.width, area.height);
    }
    this.#drawing = this.#rects.length ? requestAnimationFrame(() => this.#draw()) : 0;
  }
}
