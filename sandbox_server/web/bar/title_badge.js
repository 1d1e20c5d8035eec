// The badge of the page's title, such as "(1) Live · Tandem": how many requests are open. The page may change its title at any time.

const BADGE = /^\(\d+\) /;

export class TitleBadge {
  #count = 0;

  constructor() {
    if (document.head) new MutationObserver(() => this.#apply()).observe(document.head, { childList: true, characterData: true, subtree: true });
  }

  /** @param {number} count */
  show(count) {
    this.#count = count;
    this.#apply();
  }

  #apply() {
    const wanted = `${this.#count ? `(${this.#count}) ` : ""}${document.title.replace(BADGE, "")}`;
    if (document.title !== wanted) document.title = wanted;
  }
}
