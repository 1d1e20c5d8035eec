// An object with the functions `read` and `write`: how far a page is scrolled, and what is filled into its forms. Runs in a world of its own.
(() => {
  const MAX_FIELDS = 200, MAX_VALUE = 4096, MAX_LOOKED_AT = 5000, MAX_PATH = 4096, MAX_DEPTH = 300;
  const CODE = /one.?time|otp|totp|2fa|mfa|two.?factor|verification.?code|security.?code|auth.{0,40}code|passcode|passw|secret|token|cvv|cvc|csc/i;
  const SECRETS = new Set(["one-time-code", "current-password", "new-password", "cc-number", "cc-csc", "cc-exp"]);
  const LEFT = new Set(["password", "hidden", "file", "button", "submit", "reset", "image"]);

  function isSecret(field) {
    if ((field.autocomplete || "").split(" ").some((word) => SECRETS.has(word))) return true;
    const style = getComputedStyle(field).webkitTextSecurity;
    const labels = [...(field.labels || [])].slice(0, 5).map((label) => label.textContent.slice(0, 200));
    const told = [field.name, field.id, field.placeholder, field.getAttribute("aria-label"), ...labels];
    return (style && style !== "none") || CODE.test(told.map((text) => String(text || "").slice(0, 200)).join(" "));
  }

  // A form's own properties are hidden by fields of their names, so they are read as those of its prototype.
  const parentOf = propertyOf(Node.prototype, "parentElement"), childrenOf = propertyOf(Element.prototype, "children");

  function propertyOf(prototype, name) {
    const { get } = Object.getOwnPropertyDescriptor(prototype, name);
    return (element) => get.call(element);
  }

  /** Its path, or null where the document is too deep or too wide. */
  function pathOf(field) {
    const steps = [];
    for (let at = field, parent = parentOf(at); parent; at = parent, parent = parentOf(at)) {
      const siblings = childrenOf(parent);
      if (siblings.length > MAX_LOOKED_AT || steps.length === MAX_DEPTH) return null;
      steps.unshift(`:nth-child(${[...siblings].indexOf(at) + 1})`);
    }
    return [":root", ...steps].join(">");
  }

  function stateOf(field) {
    if (field instanceof HTMLSelectElement) {
      const chosen = [...field.options].filter((option) => option.selected).map((option) => option.index);
      const first = [...field.options].filter((option) => option.defaultSelected).map((option) => option.index);
      if (!first.length && !field.multiple && field.size < 2) first.push([...field.options].findIndex((option) => !option.disabled));
      return String(chosen) === String(first) ? null : { kind: "selected", value: JSON.stringify(chosen.slice(0, 100)) };
    }
    if (field.type === "checkbox" || field.type === "radio") {
      return field.checked === field.defaultChecked ? null : { kind: "checked", value: String(field.checked) };
    }
    return field.value === field.defaultValue || field.value.length > MAX_VALUE ? null : { kind: "text", value: field.value };
  }

  function read() {
    const fields = [];
    const found = document.querySelectorAll("input, textarea, select");
    for (let index = 0; index < found.length && index < MAX_LOOKED_AT && fields.length < MAX_FIELDS; index++) {
      const field = found[index];
      if (LEFT.has(field.type) || isSecret(field)) continue;
      const state = stateOf(field);
      const path = state && pathOf(field);
      if (path && path.length <= MAX_PATH) fields.push({ path, ...state });
    }
    return { x: scrollX, y: scrollY, fields };
  }

  function addressOf(url) {
    return url.split("#")[0].replace(/\/$/, "");
  }

  function put(field, { kind, value }) {
    if (kind === "selected" && field instanceof HTMLSelectElement) {
      const chosen = new Set(JSON.parse(value));
      for (const option of field.options) option.selected = chosen.has(option.index);
    } else if (kind === "checked" && (field.type === "checkbox" || field.type === "radio")) {
      field.checked = value === "true";
    } else if (kind === "text" && !LEFT.has(field.type) && (field instanceof HTMLInputElement || field instanceof HTMLTextAreaElement)) {
      field.value = value;
    } else {
      return false;
    }
    for (const name of ["input", "change"]) field.dispatchEvent(new Event(name, { bubbles: true }));
    return true;
  }

  function write(state) {
    let filled = 0;
    if (addressOf(location.href) !== addressOf(state.url)) return null;
    for (const each of state.fields) {
      const field = document.querySelector(each.path);
      if (field instanceof Element && !isSecret(field) && put(field, each)) filled++;
    }
    scrollTo({ left: state.x, top: state.y, behavior: "instant" });
    return { filled, x: scrollX, y: scrollY };
  }

  return { read, write };
})()
