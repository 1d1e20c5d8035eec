// Runs in a world of its own in every document: says whether a field that takes a secret has the focus, and what is typed into it.
(() => {
  globalThis.tellSecret = globalThis.__binding__;
  if (globalThis.lookAgain) return globalThis.lookAgain(); // the same document, which may have been left for a while
  const once = new WeakSet(); // fields that were for passwords: a page may show what was typed
  const CODE = /one.?time|otp|totp|2fa|mfa|two.?factor|verification.?code|security.?code|auth.{0,40}code|passcode|cvv|cvc|csc/i;
  const SECRETS = new Set(["one-time-code", "current-password", "new-password", "cc-number", "cc-csc"]);
  const NO_TEXT = new Set(["button", "checkbox", "color", "file", "hidden", "image", "radio", "range", "reset", "submit"]);
  const typing = new WeakMap(); // what was in a field for a secret last
  let told = false;

  function isSecret(field) {
    if (!(field instanceof HTMLInputElement) || NO_TEXT.has(field.type)) return false;
    if (field.type === "password") once.add(field);
    if (once.has(field) || (field.autocomplete || "").split(" ").some((word) => SECRETS.has(word))) return true;
    const labels = [...(field.labels || [])].map((label) => label.textContent.slice(0, 200));
    return CODE.test([field.name, field.id, field.placeholder, field.getAttribute("aria-label"), ...labels].join(" "));
  }

  function focused() {
    let found = document.activeElement;
    while (found?.shadowRoot?.activeElement) found = found.shadowRoot.activeElement;
    return found;
  }

  function look(secret = isSecret(focused())) {
    if (secret === told) return;
    told = secret;
    globalThis.tellSecret(JSON.stringify({ secret }));
  }

  /** What was typed into a field for a secret is told, so that nobody else is. */
  function typed(event) {
    const field = event.composedPath()[0];
    if (!event.isTrusted || !isSecret(field) || field.value === (typing.get(field) ?? "")) return;
    globalThis.tellSecret(JSON.stringify({ value: field.value, was: typing.get(field) ?? "", origin: self.origin }));
    typing.set(field, field.value);
  }

  addEventListener("focusin", (event) => look(isSecret(event.composedPath()[0])), true);
  addEventListener("focusout", () => queueMicrotask(() => look(document.hasFocus() && isSecret(focused()))), true);
  addEventListener("beforeinput", () => look(), true);
  addEventListener("keydown", () => look(), true);
  addEventListener("input", typed, true);
  addEventListener("change", typed, true);
  addEventListener("pagehide", () => look(false), true);
  addEventListener("pageshow", () => look(), true);
  globalThis.lookAgain = () => {
    told = false;
    look();
  };
  look();
})();
