// A small document for modules that build elements: enough of the DOM (https://dom.spec.whatwg.org) for the pages' own code, and no layout.

const VOID = new Set(["input", "br", "img"]);
/** Attributes that a property of the same name reflects, with its value when the attribute is absent. */
const REFLECTED = { id: "", title: "", type: "", href: "", name: "", tabindex: "" };
const FLAGS = ["hidden", "disabled", "readonly", "required"];
const kebab = (/** @type {string} */ name) => name.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`);

/** One condition of a compound selector: `tag`, `#id`, `.class` or `[name=value]`. */
const SIMPLE = /([\w-]+|\*)|#([\w-]+)|\.([\w-]+)|\[([\w-]+)(?:=["']?((?:[^"'\]\\]|\\.)*)["']?)?\]/gy;

/** @param {El} element @param {string} compound */
function fits(element, compound) {
  SIMPLE.lastIndex = 0;
  for (let match; SIMPLE.lastIndex < compound.length; ) {
    if (!(match = SIMPLE.exec(compound))) throw new SyntaxError(`the stand-in knows no selector ${compound}`);
    const [, tag, id, name, attribute, value] = match;
    if (tag && tag !== "*" && tag !== element.localName) return false;
    if (id && element.id !== id) return false;
    if (name && !element.classList.contains(name)) return false;
    if (attribute && (!element.hasAttribute(attribute) || (value !== undefined && element.getAttribute(attribute) !== value.replace(/\\(.)/g, "$1")))) return false;
  }
  return true;
}

/** @param {El} element @param {string} selector */
function matches(element, selector) {
  return selector.split(",").some((each) => {
    const compounds = each.trim().split(/\s+/);
    if (!fits(element, /** @type {string} */ (compounds.pop()))) return false;
    let above = element.parentElement;
    for (let compound; (compound = compounds.pop()); above = above.parentElement) {
      while (above && !fits(above, compound)) above = above.parentElement;
      if (!above) return false;
    }
    return true;
  });
}

export class El {
  /** @type {(El | string)[]} */
  childNodes = [];
  /** @type {El | null} */
  parentElement = null;
  /** @type {Map<string, string>} */
  attributes = new Map();
  /** @type {Map<string, Set<Function>>} */
  #listeners = new Map();
  /** @type {Record<string, any>} */
  style = {};
  value = "";
  checked = false;
  /** What getBoundingClientRect says. */
  box = { left: 0, top: 0, width: 100, height: 100 };
  clientWidth = 0;
  clientHeight = 0;
  /** @type {any[]} animations that were begun */
  animations = [];

  constructor(localName = "") {
    this.localName = localName;
    const element = this;
    this.dataset = new Proxy(/** @type {any} */ ({}), {
      get: (_, name) => element.attributes.get(`data-${kebab(String(name))}`),
      set: (_, name, value) => (element.attributes.set(`data-${kebab(String(name))}`, String(value)), true),
    });
    this.classList = {
      add: (...names) => (this.className = [...new Set([...this.#classes(), ...names])].join(" ")),
      remove: (...names) => (this.className = this.#classes().filter((name) => !names.includes(name)).join(" ")),
      contains: (name) => this.#classes().includes(name),
      toggle: (name, on = !this.#classes().includes(name)) => (this.classList[on ? "add" : "remove"](name), on),
    };
  }

  #classes() {
    return (this.attributes.get("class") ?? "").split(/\s+/).filter(Boolean);
  }

  get tagName() {
    return this.localName.toUpperCase();
  }
  get className() {
    return this.attributes.get("class") ?? "";
  }
  set className(value) {
    this.attributes.set("class", value);
  }
  get textContent() {
    return this.childNodes.map((node) => (typeof node === "string" ? node : node.textContent)).join("");
  }
  set textContent(text) {
    this.replaceChildren(...(text === "" || text === null ? [] : [String(text)]));
  }
  get content() {
    return this;
  }

  get children() {
    return /** @type {El[]} */ (this.childNodes.filter((node) => node instanceof El));
  }
  get childElementCount() {
    return this.children.length;
  }
  get firstElementChild() {
    return this.children[0] ?? null;
  }
  get lastElementChild() {
    return this.children.at(-1) ?? null;
  }
  get parentNode() {
    return this.parentElement;
  }
  get nextElementSibling() {
    return this.#sibling(1);
  }
  get previousElementSibling() {
    return this.#sibling(-1);
  }
  get isConnected() {
    return this.#root() === globalThis.document?.body;
  }
  #sibling(step) {
    const all = this.parentElement?.children ?? [];
    return all[all.indexOf(this) + step] ?? null;
  }
  #root() {
    let above = /** @type {El} */ (this);
    while (above.parentElement) above = above.parentElement;
    return above;
  }

  append(...nodes) {
    for (const node of nodes) {
      if (node.localName === "") this.append(...node.childNodes.splice(0)); // a fragment
      else {
        if (node instanceof El) {
          node.remove();
          node.parentElement = this;
        }
        this.childNodes.push(node instanceof El ? node : String(node));
      }
    }
  }
  appendChild(node) {
    this.append(node);
  }
  removeChild(node) {
    node.remove();
  }
  replaceChildren(...nodes) {
    for (const child of this.children) child.parentElement = null;
    this.childNodes = [];
    this.append(...nodes);
    const active = globalThis.document?.activeElement;
    if (active && active !== document.body && !document.body.contains(active)) document.activeElement = document.body;
  }
  remove() {
    const siblings = this.parentElement?.childNodes;
    if (siblings) siblings.splice(siblings.indexOf(this), 1);
    this.parentElement = null;
  }
  after(node) {
    node.remove();
    const siblings = /** @type {El} */ (this.parentElement).childNodes;
    siblings.splice(siblings.indexOf(this) + 1, 0, node);
    node.parentElement = this.parentElement;
  }
  replaceWith(node) {
    this.after(node);
    this.remove();
  }
  contains(other) {
    for (let above = other; above; above = above.parentElement) if (above === this) return true;
    return false;
  }
  cloneNode() {
    const copy = new El(this.localName);
    for (const [name, value] of this.attributes) copy.attributes.set(name, value);
    copy.append(...this.childNodes.map((node) => (typeof node === "string" ? node : node.cloneNode())));
    return copy;
  }
  set innerHTML(html) {
    this.replaceChildren();
    let place = /** @type {El} */ (this);
    for (const [, text, end, tag, rest] of html.matchAll(/([^<]+)|<(\/?)([\w-]+)([^>]*)>/g)) {
      if (text) text.trim() && place.append(text.trim());
      else if (end) place = place.parentElement ?? this;
      else {
        const made = new El(tag);
        for (const [, name, value = ""] of rest.matchAll(/([\w-]+)(?:="([^"]*)")?/g)) made.setAttribute(name, value);
        place.append(made);
        if (!VOID.has(tag)) place = made;
      }
    }
  }

  getAttribute(name) {
    return this.attributes.get(name) ?? null;
  }
  hasAttribute(name) {
    return this.attributes.has(name);
  }
  setAttribute(name, value) {
    this.attributes.set(name, String(value));
    this.#changed(name);
  }
  removeAttribute(name) {
    if (this.attributes.delete(name)) this.#changed(name);
  }
  toggleAttribute(name, on = !this.hasAttribute(name)) {
    if (on && !this.hasAttribute(name)) this.setAttribute(name, "");
    else if (!on) this.removeAttribute(name);
    return on;
  }
  #changed(name) {
    const { observedAttributes } = /** @type {any} */ (this.constructor);
    if (observedAttributes?.includes(name)) /** @type {any} */ (this).attributeChangedCallback(name);
  }

  matches(selector) {
    return matches(this, selector);
  }
  closest(selector) {
    for (let above = /** @type {El | null} */ (this); above; above = above.parentElement) if (matches(above, selector)) return above;
    return null;
  }
  querySelectorAll(selector) {
    return this.children.flatMap((child) => [...(matches(child, selector) ? [child] : []), ...child.querySelectorAll(selector)]);
  }
  querySelector(selector) {
    return this.querySelectorAll(selector)[0] ?? null;
  }

  addEventListener(type, listener, { once = false } = {}) {
    const called = once ? (event) => (this.removeEventListener(type, called), listener(event)) : listener;
    this.#listeners.set(type, (this.#listeners.get(type) ?? new Set()).add(called));
  }
  removeEventListener(type, listener) {
    this.#listeners.get(type)?.delete(listener);
  }
  /** @param {Event} event is told to this element and to those around it */
  dispatchEvent(event) {
    if (!event.target) Object.defineProperty(event, "target", { value: this });
    this[`on${event.type}`]?.(event);
    for (const listener of [...(this.#listeners.get(event.type) ?? [])]) listener(event);
    if (event.bubbles || event.type === "click") this.parentElement?.dispatchEvent(event);
    return !event.defaultPrevented;
  }
  click() {
    this.dispatchEvent(new Event("click", { bubbles: true, cancelable: true }));
  }
  focus() {
    document.activeElement = this;
  }

  getBoundingClientRect() {
    return this.box;
  }
  animate(keyframes, options) {
    const animation = { keyframes, options, cancel() {}, onfinish: /** @type {any} */ (null) };
    this.animations.push(animation);
    return animation;
  }
  attachShadow() {
    this.shadowRoot = new El("shadow-root");
    this.shadowRoot.parentElement = this;
    return this.shadowRoot;
  }
  getContext() {
    return (this.context ??= recordingContext());
  }
  transferControlToOffscreen() {
    return { width: 0, height: 0 };
  }
  toDataURL() {
    return "data:image/png;base64,";
  }
  scrollIntoView() {}
  setSelectionRange() {}
  setPointerCapture() {}
  select() {}
  showModal() {
    this.open = true;
  }
  close() {
    this.open = false;
  }
  showPopover() {}
  togglePopover() {}
  hidePopover() {}
}

for (const [name, absent] of Object.entries(REFLECTED)) {
  Object.defineProperty(El.prototype, name, {
    get() {
      return this.attributes.get(name) ?? absent;
    },
    set(value) {
      this.attributes.set(name, String(value));
    },
  });
}
for (const name of FLAGS) {
  Object.defineProperty(El.prototype, name, {
    get() {
      return this.attributes.has(name);
    },
    set(on) {
      if (on) this.attributes.set(name, "");
      else this.attributes.delete(name);
    },
  });
}

/** A canvas' context that notes each call as [method, ...arguments]. */
export function recordingContext() {
  /** @type {any[][]} */
  const calls = [];
  return new Proxy(/** @type {any} */ ({ calls }), {
    get: (target, name) => (name in target ? target[name] : (...given) => void calls.push([name, ...given])),
  });
}

/** Give this process a document. @returns {El} its body */
export function openDocument() {
  const body = new El("body");
  const document = Object.assign(new El("html"), {
    body,
    documentElement: new El("html"),
    activeElement: body,
    createElement: (name) => new (registered.get(name) ?? El)(name),
    createElementNS: (_, name) => new El(name),
    hasFocus: () => true,
    querySelector: (selector) => body.querySelector(selector),
    querySelectorAll: (selector) => body.querySelectorAll(selector),
  });
  const page = new El("window");
  globals({
    document,
    HTMLElement: El,
    customElements: { define: (name, made) => registered.set(name, made) },
    Option: function (text, value) {
      return Object.assign(new El("option"), { textContent: text, value });
    },
    addEventListener: page.addEventListener.bind(page),
    removeEventListener: page.removeEventListener.bind(page),
    dispatchEvent: page.dispatchEvent.bind(page),
    location: new URL("http://box.test:8080/"),
    matchMedia: () => ({ matches: false }),
    requestAnimationFrame: (act) => setTimeout(() => act(performance.now()), 0),
    cancelAnimationFrame: clearTimeout,
    isSecureContext: true,
    CSS: { escape: (text) => text.replace(/[^\w-]/g, "\\$&") },
  });
  return body;
}

/** @type {Map<string, any>} custom elements */
const registered = new Map();

/** Set globals, also those that Node makes read-only. @param {Record<string, unknown>} values */
export function globals(values) {
  for (const [name, value] of Object.entries(values)) Object.defineProperty(globalThis, name, { value, configurable: true, writable: true });
}

/** Elements by their ids, each in the body. @param {El} body @param {Record<string, string>} tags by id */
export function parts(body, tags) {
  const made = Object.entries(tags).map(([id, tag]) => [id, Object.assign(document.createElement(tag), { id })]);
  body.append(...made.map(([, element]) => element));
  return Object.fromEntries(made);
}
