// One sandbox: its picture, its name and state, who drives, what it asks.

import { element, say } from "./elements.js";
import { age, driver, STATES } from "./format.js";

/** @typedef {import("./service.js").Sandbox} Sandbox */

const MAX_LABELS = 3;

export class Tile {
  #shown = "";
  #inSight = false;
  picture = element("img", { alt: "", decoding: "async", hidden: true });
  cover = element("span", { className: "cover" });
  name = element("strong", { className: "name" });
  state = element("span", { className: "state" });
  asks = element("span", { className: "badge", hidden: true });
  driver = element("span", { className: "driver" });
  age = element("span", { className: "muted age" });
  labels = element("span", { className: "labels" });
  button = element("button", { type: "button", className: "tile" });
  element = element("li", {}, this.button);

  /** @param {Sandbox} sandbox @param {(sandbox: Sandbox) => void} open */
  constructor(sandbox, open) {
    this.sandbox = sandbox;
    this.asked = 0;
    this.button.append(
      element("span", { className: "screen" }, this.picture, this.cover, this.asks),
      element("span", { className: "line" }, this.name, this.state),
      element("span", { className: "line" }, this.driver, this.age),
      this.labels,
    );
    this.button.onclick = () => open(this.sandbox);
    this.picture.onerror = () => (this.picture.hidden = true);
    this.picture.onload = () => (this.picture.hidden = false);
    this.show(sandbox, 0);
  }

  /** @param {boolean} inSight whether it is seen: a picture is loaded only then */
  set inSight(inSight) {
    this.#inSight = inSight;
    this.#load();
  }

  /** @param {Sandbox} sandbox as it is now @param {number} asked how many requests it has */
  show(sandbox, asked) {
    this.sandbox = sandbox;
    this.asked = asked;
    const [words, mark] = driver(sandbox);
    say(this.name, sandbox.name);
    say(this.state, sandbox.state);
    this.state.className = `state ${STATES[sandbox.state] ?? "waiting"}`;
    this.state.title = sandbox.reason;
    say(this.driver, words || sandbox.reason);
    this.driver.dataset.driver = mark;
    this.asks.hidden = !asked;
    say(this.asks, asked === 1 ? "1 request" : `${asked} requests`);
    this.labels.replaceChildren(...this.#labels());
    this.button.classList.toggle("asks", asked > 0);
    this.button.classList.toggle("resting", sandbox.state !== "ready");
    say(this.cover, this.#covered());
    this.#load();
    this.tick(Date.now());
  }

  /** Show how old it is. @param {number} now in milliseconds */
  tick(now) {
    say(this.age, age(this.sandbox.created_at, now));
    const asked = this.asked ? `${this.asks.textContent}` : "";
    const name = [this.sandbox.name, this.sandbox.state, this.driver.textContent, asked].filter(Boolean).join(", ");
    if (this.button.ariaLabel !== name) this.button.ariaLabel = name;
  }

  #labels() {
    const all = Object.entries(this.sandbox.labels).sort();
    return all.slice(0, MAX_LABELS).map(([name, value]) => element("span", { className: "label", textContent: `${name}=${value}`, title: `${name}=${value}` }));
  }

  #covered() {
    const { state, driver: drives, picture } = this.sandbox;
    if (state !== "ready") return picture ? "" : state === "failed" ? "failed" : `is ${state}`;
    return drives?.private ? "hidden by a person" : picture ? "" : "no picture yet";
  }

  #load() {
    const { id, picture } = this.sandbox;
    if (!picture) {
      this.picture.hidden = true;
      this.picture.removeAttribute("src");
      this.#shown = "";
    } else if (this.#inSight && this.#shown !== picture) {
      this.#shown = picture;
      this.picture.src = `/v1/sandboxes/${encodeURIComponent(id)}/picture?version=${picture}`;
    }
  }
}
