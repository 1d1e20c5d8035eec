// A thumbnail of the desktop, refreshed while the page is visible.

const PATH = "/v1/browser/screenshot?format=webp&quality=70&scale=0.4";
const FRESH_MS = 3000;
const FORBIDDEN = 403;

export class Thumbnail {
  #shown = false;

  /** @param {HTMLImageElement} picture */
  constructor(picture) {
    this.picture = picture;
  }

  /** @param {boolean} shown whether there is a desktop */
  set shown(shown) {
    const begins = shown && !this.#shown;
    this.#shown = shown;
    if (begins) this.#refresh();
  }

  /** Take a screenshot now and again later, until one is forbidden. */
  async #refresh() {
    if (!this.#shown) return;
    const status = document.hidden ? 0 : await this.#take().catch(() => 0);
    if (status !== FORBIDDEN) setTimeout(() => this.#refresh(), FRESH_MS);
  }

  async #take() {
    const answer = await fetch(PATH, { signal: AbortSignal.timeout(FRESH_MS * 5) });
    if (answer.ok) {
      URL.revokeObjectURL(this.picture.src);
      this.picture.src = URL.createObjectURL(await answer.blob());
      this.picture.hidden = false;
    }
    return answer.status;
  }
}
