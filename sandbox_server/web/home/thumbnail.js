// A thumbnail of the desktop, refreshed while the page is visible.

const PATH = "/v1/browser/screenshot?format=webp&quality=70&scale=0.5";
const FRESH_MS = 3000;
const FORBIDDEN = 403;

export class Thumbnail {
  #shown = false;
  #allowed = false;
  #waits = false;

  /** @param {HTMLImageElement} picture */
  constructor(picture) {
    this.picture = picture;
  }

  /** @param {boolean} shown whether there is a desktop, which is seen and not covered */
  set shown(shown) {
    this.#shown = shown;
    if (!shown) this.picture.hidden = true;
    this.#begin();
  }

  /** @param {boolean} allowed whether the caller may take screenshots; nothing is asked for before that is known */
  set allowed(allowed) {
    this.#allowed = allowed;
    this.#begin();
  }

  #begin() {
    if (this.#shown && this.#allowed && !this.#waits) this.#refresh();
  }

  /** Take a screenshot now and again later, until one is forbidden. */
  async #refresh() {
    this.#waits = true;
    const status = document.hidden ? 0 : await this.#take().catch(() => 0);
    if (status === FORBIDDEN) this.#allowed = false;
    if (!this.#shown || !this.#allowed) this.#waits = false;
    else setTimeout(() => (this.#shown ? this.#refresh() : (this.#waits = false)), FRESH_MS);
  }

  async #take() {
    const answer = await fetch(PATH, { signal: AbortSignal.timeout(FRESH_MS * 5) });
    if (answer.ok && this.#shown) {
      URL.revokeObjectURL(this.picture.src);
      this.picture.src = URL.createObjectURL(await answer.blob());
      this.picture.hidden = !this.#shown;
    }
    return answer.status;
  }
}
