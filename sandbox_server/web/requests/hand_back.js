// Handing control back with a request that one has taken on: asks what becomes of it.

import { plainText } from "./plain_text.js";
import { translate } from "./strings.js";

/** @typedef {import("./handoff.js").Handoff} Handoff */
/** @typedef {import("./request_actions.js").RequestActions} RequestActions */

const MAX_REASON = 300;
const MAX_NOTE = 4000;

export class HandBack {
  /** @type {Handoff | undefined} */
  #asked;
  dialog = Object.assign(document.createElement("dialog"), { className: "card hand-back" });
  reason = Object.assign(document.createElement("p"), { className: "theirs reason", dir: "auto" });
  note = Object.assign(document.createElement("textarea"), { rows: 2, maxLength: MAX_NOTE, placeholder: translate("note") });

  /** @param {HTMLElement} place gets the dialog @param {RequestActions} actions */
  constructor(place, actions) {
    this.actions = actions;
    this.dialog.setAttribute("aria-label", translate("handBack"));
    this.note.setAttribute("aria-label", translate("note"));
    const said = Object.assign(document.createElement("p"), { textContent: translate("handBackText") });
    const title = Object.assign(document.createElement("h2"), { textContent: translate("handBack") });
    this.dialog.append(title, said, this.reason, this.note, this.#buttons());
    place.append(this.dialog);
  }

  /** Hand control back, at once where the person has taken nothing on. @param {Handoff[]} open */
  async begin(open) {
    const { you, lease } = this.actions;
    this.#asked = open.find(({ claimed_by: claimed }) => claimed !== null && claimed === you);
    if (!this.#asked) return lease.do("release");
    this.reason.textContent = plainText(this.#asked.reason, MAX_REASON);
    this.note.value = "";
    this.dialog.showModal();
  }

  #buttons() {
    const tools = document.createElement("div");
    tools.className = "tools";
    tools.append(
      this.#button("handBackDone", "", () => this.#answer("done")),
      this.#button("handBackNot", "quiet", () => this.#answer("cannot")),
      this.#button("handBackOpen", "quiet", () => this.actions.lease.do("release")),
      this.#button("cancel", "quiet", async () => {}),
    );
    return tools;
  }

  /** @param {"done" | "cannot"} outcome */
  #answer(outcome) {
    return this.actions.answer(/** @type {Handoff} */ (this.#asked), { outcome, note: this.note.value }, { release: true });
  }

  /** @param {"handBackDone" | "handBackNot" | "handBackOpen" | "cancel"} key @param {string} look @param {() => Promise<unknown>} act */
  #button(key, look, act) {
    const button = Object.assign(document.createElement("button"), { type: "button", className: `button ${look}`.trim(), textContent: translate(key) });
    button.onclick = async () => {
      this.dialog.close();
      try {
        await act();
      } catch (error) {
        this.actions.notify(translate("failed", { reason: /** @type {Error} */ (error).message }));
      }
    };
    return button;
  }
}
