import type { Operations, Schemas } from "./operations.js";

/** An element of a page: by `selector` (CSS, or `text=Sign in`), or by `index` of `elements`. */
export type Target = string | { readonly index: number };

/** The page of the tab in front, or of the tab with an index. Timeouts are in seconds. */
export class Page {
  readonly #api: Operations;
  readonly #tab: { readonly tab?: number };

  constructor(api: Operations, tab?: number) {
    this.#api = api;
    this.#tab = tab === undefined ? {} : { tab };
  }

  /** Navigate; answers `url`, `title` and the HTTP `status`. */
  goto(url: string, options: { readonly waitUntil?: Schemas["NavigateRequest"]["wait_until"]; readonly timeout?: number } = {}) {
    const { waitUntil = "load", timeout = 30 } = options;
    return this.#api.call("POST /v1/browser/page/navigate", { body: { url, wait_until: waitUntil, timeout, ...this.#tab } });
  }

  /** Click an element. */
  async click(target: Target, options: { readonly timeout?: number } = {}): Promise<void> {
    await this.#api.call("POST /v1/browser/page/click", { body: { ...named(target), timeout: options.timeout ?? 10, ...this.#tab } });
  }

  /** Put a text into a field, in place of what is there. */
  async fill(target: Target, text: string, options: { readonly timeout?: number } = {}): Promise<void> {
    await this.#api.call("POST /v1/browser/page/fill", { body: { text, ...named(target), timeout: options.timeout ?? 10, ...this.#tab } });
  }

  /** Press a key, such as `Enter`, or several at once: `Control+a`. */
  async press(key: string): Promise<void> {
    await this.#api.call("POST /v1/browser/page/press_key", { body: { key, ...this.#tab } });
  }

  /** The value of a JavaScript expression in the page. */
  evaluate(expression: string): Promise<unknown> {
    return this.#api.call("POST /v1/browser/page/evaluate", { body: { expression, ...this.#tab } });
  }

  /** What can be clicked and filled, each with its `index`. */
  elements() {
    return this.#api.call("GET /v1/browser/page/elements", { query: this.#tab });
  }

  /** What the page says. */
  text(): Promise<string> {
    return this.#api.call("GET /v1/browser/page/text", { query: this.#tab });
  }

  /** What the page says, as Markdown. */
  async markdown(): Promise<string> {
    return (await this.#api.call("GET /v1/browser/page/markdown", { query: this.#tab })).content;
  }

  /** The page's document. */
  html(): Promise<string> {
    return this.#api.call("GET /v1/browser/page/html", { query: this.#tab });
  }

  /** A picture of the page in PNG. */
  screenshot(options: { readonly fullPage?: boolean } = {}): Promise<Uint8Array> {
    return this.#api.call("GET /v1/browser/page/screenshot", { query: { full_page: options.fullPage ?? false, format: "png", ...this.#tab } });
  }
}

function named(target: Target): { selector: string } | { index: number } {
  return typeof target === "string" ? { selector: target } : { index: target.index };
}
