// The language of the pages: `?lang=`, else the one that was chosen in the bar, else the browser's. Each page has its own strings.

const KEY = "language";

/** @returns {string} a language tag */
function requested() {
  return new URL(location.href).searchParams.get("lang") ?? stored() ?? navigator.language ?? "en";
}

/** The choice of before; null where there is none, or the browser keeps none. */
function stored() {
  try {
    return localStorage.getItem(KEY);
  } catch {
    return null;
  }
}

/** @type {"en" | "zh"} */
export const language = requested().toLowerCase().startsWith("zh") ? "zh" : "en";

/** Choose a language for all pages of this browser, and show this one in it. @param {"en" | "zh"} chosen */
export function chooseLanguage(chosen) {
  localStorage.setItem(KEY, chosen);
  const address = new URL(location.href);
  address.searchParams.delete("lang");
  if (address.href === location.href) location.reload();
  else location.replace(address);
}

/**
 * The strings of a page, by key, with their placeholders filled.
 * @template {string} Key
 * @param {Record<Key, string>} english
 * @param {Record<Key, string>} chinese
 * @returns {(key: Key, values?: Record<string, string | number>) => string}
 */
export function translator(english, chinese) {
  const strings = language === "zh" ? chinese : english;
  return (key, values = {}) => strings[key].replace(/\{(\w+)\}/g, (_, name) => String(values[name] ?? ""));
}

/** The attributes that can be filled. */
const ATTRIBUTES = /** @type {const} */ (["aria-label", "title", "placeholder"]);

/**
 * Fill the elements that name their strings: `data-says` is the text, `data-says-title` and the like are attributes. The bar fills its own.
 * @param {ParentNode} root
 * @param {(key: any) => string} translate
 */
export function fill(root, translate) {
  document.documentElement.lang = language;
  for (const element of elements(root, "[data-says]")) element.textContent = translate(element.dataset.says);
  for (const name of ATTRIBUTES) {
    const key = `data-says-${name}`;
    for (const element of elements(root, `[${key}]`)) element.setAttribute(name, translate(element.getAttribute(key)));
  }
}

/** @param {ParentNode} root @param {string} selector @returns {HTMLElement[]} */
function elements(root, selector) {
  const found = /** @type {NodeListOf<HTMLElement>} */ (root.querySelectorAll(selector));
  return [...found].filter((element) => [null, root].includes(element.closest("tandem-bar")));
}

/** A guest's name, as `guest:Mia`, and what a guest is called who said none. */
const GUEST = /^guest(?::(.*))?$/;
const GUESTS = { en: ["Guest", "{name} (guest)"], zh: ["访客", "{name}（访客）"] }[language];

/** A person's name for display: of a guest, the one that they said; of others who signed in, with the start of the session's id. @param {string} name */
export function person(name) {
  const [who, session] = name.split("#");
  const guest = GUEST.exec(who);
  if (guest?.[1]) return GUESTS[1].replace("{name}", () => decoded(guest[1]));
  const called = guest ? GUESTS[0] : who;
  return session ? `${called} · ${session.slice(0, 4)}` : called;
}

/** @param {string} name */
function decoded(name) {
  try {
    return decodeURIComponent(name);
  } catch {
    return name;
  }
}
