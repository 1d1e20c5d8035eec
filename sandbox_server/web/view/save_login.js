// "Save login": keeps what the browser is signed in to as a profile of its own, for this sandbox's next start and for others.

import { call } from "/static/api.js";
import { translate } from "./strings.js";

const COPY_MS = 300000;

export class SaveLogin {
  /**
   * @param {{form: HTMLFormElement, name: HTMLInputElement, hint: HTMLElement, save: HTMLButtonElement}} parts `hint`: where it is told how it went
   */
  constructor({ form, name, hint, save }) {
    this.name = name;
    this.hint = hint;
    this.save = save;
    form.onsubmit = (event) => {
      event.preventDefault();
      return this.#save(name.value);
    };
  }

  /** Copy the profile in use; the desktop's browser is gone for some seconds meanwhile. @param {string} to */
  async #save(to) {
    this.save.disabled = true;
    this.hint.textContent = translate("savingLogin");
    try {
      const { profiles } = await call("GET", "/v1/profiles");
      const { name } = profiles.find((/** @type {{in_use: boolean}} */ profile) => profile.in_use);
      await call("POST", `/v1/profiles/${encodeURIComponent(name)}/duplicate`, { body: { to }, timeout: COPY_MS });
      this.hint.textContent = translate("savedLogin", { name: to });
      this.name.value = "";
    } catch (error) {
      this.hint.textContent = translate("failed", { reason: /** @type {Error} */ (error).message });
    } finally {
      this.save.disabled = false;
    }
  }
}
