// The sign-in page: exchanges a key for a ticket and opens the requested page with it. The response sets the cookie and drops the ticket.

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
    throw new Error("The sandbox does not answer. Is it still running?");
  }
  const body = await response.json().catch(() => ({}));
  if (response.status === 401) {
    throw new Error(refusal(body.message));
  }
  if (!response.ok) {
    throw new Error(body.message ?? `The sandbox answered ${response.status}.`);
  }
  return body.ticket;
}

/**
 * Why a key was refused, as a sentence.
 * @param {string | undefined} message
 */
function refusal(message) {
  if (!message || /neither|no key|sign in/.test(message)) {
    return "This is not the key of this sandbox.";
  }
  return `${message[0].toUpperCase()}${message.slice(1)}.`;
}

/**
 * The address of this page with a ticket.
 * @param {string} ticket
 */
function address(ticket) {
  const url = new URL(location.href);
  url.searchParams.set("ticket", ticket);
  return url.href;
}

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
