// What the element shows of its connection, over the picture: that it is slow, that it has stalled, or that this network blocks it.

import { StillPictures } from "./still_pictures.js";
import { translate } from "./strings.js";

export const STYLE = `
  .screen.stale { filter: grayscale(1) brightness(.55) }
  .still { z-index: 1; inset: 0; width: 100%; height: 100% }
  .notice { position: absolute; left: 50%; bottom: .75rem; z-index: 1; width: max-content; max-width: calc(100% - 2rem); margin: 0; padding: .45rem .9rem; transform: translateX(-50%); border-radius: 8px; background: #000d; color: #fff; font: 600 .9rem/1.4 system-ui; text-align: center; pointer-events: none; white-space: pre-line }
  .notice[hidden] { display: none }
`;

/** What is said over the picture; the page says the rest. */
const SAID = /** @type {const} */ (["slow", "stalled", "blocked"]);
/** The states in which the picture is one of before. */
const STALE = ["stalled", "lost"];

/** @typedef {"connecting" | "connected" | "slow" | "stalled" | "lost" | "blocked"} StreamState */

export class ConnectionNotice {
  #seen = false;

  /**
   * @param {HTMLElement} screen
   * @param {{size: (size: {width: number, height: number}) => void, hidden: (hidden: boolean) => void}} listener of the pictures that take the
   *   stream's place: their size, and whether a person in private mode hides the screen
   */
  constructor(screen, listener) {
    this.screen = screen;
    this.element = document.createElement("p");
    this.element.className = "notice";
    this.element.setAttribute("role", "status");
    this.element.hidden = true;
    this.still = document.createElement("img");
    this.still.className = "still";
    this.still.hidden = true;
    this.still.addEventListener("load", () => listener.size({ width: this.still.naturalWidth, height: this.still.naturalHeight }));
    this.pictures = new StillPictures(this.still, listener.hidden);
    screen.append(this.still);
  }

  /** @param {StreamState} state */
  show(state) {
    this.#seen ||= state === "connected";
    this.screen.classList.toggle("stale", this.#seen && STALE.includes(state));
    const said = SAID.find((each) => each === state);
    this.element.hidden = !said;
    this.element.textContent = said ? translate(said) : "";
    if (state === "blocked") this.pictures.start();
    else this.pictures.stop();
    this.still.alt = translate("picture");
  }

  close() {
    this.pictures.stop();
  }
}
