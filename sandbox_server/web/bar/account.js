// Who is signed in, and signing out.

import { call } from "/static/api.js";
import { person } from "/static/strings.js";
import { translate } from "./strings.js";

/** The name of everybody, where the sandbox asks for no sign-in. */
const ANYONE = "anyone";

export class Account {
  /** @param {{caller: HTMLElement, signedIn: HTMLElement, signOut: HTMLElement}} parts */
  constructor(parts) {
    this.parts = parts;
    parts.signOut.onclick = async () => {
      await call("DELETE", "/v1/session");
      location.reload();
    };
  }

  /** @param {string} caller */
  show(caller) {
    const [name] = caller.split("#");
    this.parts.caller.textContent = person(name);
    this.parts.caller.hidden = name === ANYONE;
    this.parts.signedIn.textContent = translate("signedInAs", { name: person(caller) });
  }
}
