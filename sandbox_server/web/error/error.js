// The error pages, which the gateway writes: says in the person's language what happened, and leads on.

import { fill } from "/static/strings.js";
import { translate } from "./strings.js";

const { error = "missing", reason = "" } = document.body.dataset;
const kind = /** @type {"forbidden" | "missing" | "held"} */ (error);
const [, scope = ""] = reason.match(/scope '(\w+)'/) ?? [];
const about = ["shell", "files", "admin", "view"].includes(scope) ? /** @type {"shell"} */ (scope) : /** @type {const} */ (`${kind}About`);

fill(document, translate);
document.title = `${translate(kind)} · Tandem`;
/** @type {HTMLElement} */ (document.querySelector("h1")).textContent = translate(kind);
/** @type {HTMLElement} */ (document.querySelector("main p")).textContent = translate(about);
