// The screen as single pictures over HTTP, for where WebSockets are blocked.

const PATH = "/v1/screen/picture";
const PAUSE_MS = 1000;
const PATIENCE_MS = 15_000;
const PRIVATE = 423;

export class StillPictures {
  /** @type {ReturnType<typeof setTimeout> | undefined} */
  #timer;
  #running = false;

  /**
   * @param {HTMLImageElement} picture
   * @param {(hidden: boolean) => void} tell is called after each try: whether a person in private mode hides the screen
   */
  constructor(picture, tell) {
    this.picture = picture;
    this.tell = tell;
  }

  /** Take pictures from now on, while the page is visible. */
  start() {
    if (this.#running) return;
    this.#running = true;
    this.#next();
  }

  stop() {
    this.#running = false;
    clearTimeout(this.#timer);
    this.picture.hidden = true;
    URL.revokeObjectURL(this.picture.src);
  }

  async #next() {
    if (!document.hidden) await this.#take().catch(() => {}); // the next one may come
    if (this.#running) this.#timer = setTimeout(() => this.#next(), PAUSE_MS);
  }

  async #take() {
    const answer = await fetch(PATH, { cache: "no-store", signal: AbortSignal.timeout(PATIENCE_MS) });
    const taken = answer.ok ? await answer.blob() : undefined;
    if (!this.#running) return;
    this.tell(answer.status === PRIVATE);
    if (!taken) return;
    URL.revokeObjectURL(this.picture.src);
    this.picture.src = URL.createObjectURL(taken);
    this.picture.hidden = false;
  }
}
