// The sign-in page: exchanges a key for a ticket and opens the requested page with it. The response sets the cookie and drops the ticket.

import { fill } from "/static/strings.js";
import { translate } from "./strings.js";

const form = /** @type {HTMLFormElement} */ (document.querySelector("#sign-in"));
const problem = /** @type {HTMLElement} */ (document.querySelector("#problem"));
const button = /** @type {HTMLButtonElement} */ (form.querySelector("button"));

/**
 * Ask for a ticket with a key or a token.
 * @param {string} key
 * @returns {Promise<string>} the ticket; rejects with an Error whose message is for the person
 */
async function exchange(key) {
  let response;
  try {
    response = await fetch("/tickets", { method: "POST", headers: { Authorization: `Bearer ${key}` }, credentials: "omit" });
  } catch {
    throw new Error(translate("silent"));
  }
  const body = await response.json().catch(() => ({}));
  if (response.status === 401) {
    throw new Error(refusal(body.message));
  }
  if (!response.ok) {
    throw new Error(body.message ?? translate("answered", { status: response.status }));
  }
  return body.ticket;
}

/**
 * Why a key was refused, as a sentence.
 * @param {string | undefined} message
 */
function refusal(message) {
  if (!message || /^wrong key|sign in/.test(message)) {
    return translate("wrongKey");
  }
  return `${message[0].toUpperCase()}${message.slice(1)}.`;
}

/**
 * The address of this page with a ticket.
 * @param {string} ticket
 */
function address(ticket) {
  const url = new URL(location.href);
  url.searchParams.delete("api_key");
  url.searchParams.set("ticket", ticket);
  return url.href;
}

/** Tell whoever opened a link why they are asked to sign in: one that works leads past this page. */
function explain() {
  const asked = new URL(location.href).searchParams;
  /** @type {HTMLElement} */ (document.querySelector("#used")).hidden = !asked.has("ticket");
  if (!asked.has("api_key")) return;
  problem.textContent = translate("wrongKey");
  problem.hidden = false;
}

fill(document, translate);
document.title = `${translate("page")} · Tandem`;
explain();
form.addEventListener("submit", async (event) => {
  event.preventDefault();
  button.disabled = true;
  problem.hidden = true;
  try {
    const key = String(new FormData(form).get("key")).trim();
    location.replace(address(await exchange(key)));
  } catch (error) {
    problem.textContent = /** @type {Error} */ (error).message;
    problem.hidden = false;
    button.disabled = false;
  }
});
