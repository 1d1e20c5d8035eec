// The remote display on the page: the stream, or VNC where the browser cannot show it or the address says `?picture=vnc`.

/**
 * @typedef {import("../stream/tandem-view.js").TandemView} TandemView
 * @typedef {import("../stream/connection_notice.js").StreamState | "refused"} State
 * @typedef {object} Listener
 * @property {(state: State) => void} state
 * @property {(copied: {text: string, html?: string, png?: Blob}) => void} copied what was copied on the desktop
 * @property {() => void} rights the viewer's rights have changed
 * @property {(reason: string) => void} unheard the person's microphone cannot be used
 * @typedef {object} Source
 * @property {(text: string) => void} paste
 * @property {(text: string) => void} type
 * @property {() => void} focus
 * @property {() => {box: DOMRect, width: number} | undefined} place
 * @property {TandemView} [stream] the element, if it is the stream's
 */

/** How often the stream may fail before VNC takes its place, if it was never shown. */
const TRIES = 4;

export class RemoteDisplay {
  /** @type {Source | undefined} */
  #source;

  /**
   * @param {HTMLElement} screen
   * @param {Listener} listener
   */
  constructor(screen, listener) {
    this.screen = screen;
    this.listener = listener;
  }

  /** Show the screen; its source reconnects by itself. */
  async show() {
    const wanted = new URL(location.href).searchParams.get("picture");
    if (wanted === "vnc" || !(await hasStream())) return this.#vnc();
    await this.#stream();
  }

  /** Put a text on the desktop's clipboard. @param {string} text */
  paste(text) {
    this.#source?.paste(text);
  }

  /** Type a text on the desktop, key by key. @param {string} text */
  type(text) {
    this.#source?.type(text);
  }

  focus() {
    this.#source?.focus();
  }

  /** Where the screen is on the page, and its own width in pixels. */
  place() {
    return this.#source?.place();
  }

  /** Open the phone's keyboard, if the source has a field for it. @returns {boolean} whether it has */
  keyboard() {
    if (this.#source?.stream) this.#source.focus();
    return this.#source?.stream !== undefined;
  }

  /** Whether fingers move the pointer as on a trackpad; undefined where the source has no such mode. */
  get trackpad() {
    return this.#source?.stream?.hasAttribute("trackpad");
  }

  set trackpad(on) {
    this.#source?.stream?.toggleAttribute("trackpad", on);
  }

  /** Whether the display itself says over the picture what is wrong with its connection. */
  get explains() {
    return this.#source?.stream !== undefined;
  }

  /** The capability that the browser lacks for the stream; empty where it lacks none, or VNC is shown. */
  async missingCapability() {
    return (await this.#source?.stream?.lacks) ?? "";
  }

  /** Whether the desktop's sound is played; undefined where it cannot be. */
  get sound() {
    return globalThis.AudioDecoder && this.#source?.stream?.hasAttribute("sound");
  }

  set sound(on) {
    this.#source?.stream?.toggleAttribute("sound", on);
  }

  /** Whether the person's microphone is on; undefined where there is none on the desktop. */
  get microphone() {
    return this.#source?.stream?.microphone ? this.#source.stream.hasAttribute("microphone") : undefined;
  }

  set microphone(on) {
    this.#source?.stream?.toggleAttribute("microphone", on);
  }

  /** Whether the desktop gets the size of the window while this person drives; undefined where it cannot. */
  get fits() {
    return this.#source?.stream?.hasAttribute("resize");
  }

  set fits(on) {
    this.#source?.stream?.toggleAttribute("resize", on);
  }

  async #stream() {
    await import("/static/stream/tandem-view.js");
    const view = /** @type {TandemView} */ (document.createElement("tandem-view"));
    let tries = TRIES;
    view.addEventListener("clipboard", (event) => this.listener.copied(/** @type {CustomEvent} */ (event).detail));
    view.addEventListener("rights", () => this.listener.rights());
    view.addEventListener("microphone", (event) => this.listener.unheard(/** @type {CustomEvent} */ (event).detail.reason));
    view.addEventListener("state", (event) => {
      const { state } = /** @type {CustomEvent} */ (event).detail;
      this.listener.state(state);
      if (state === "connected" || state === "blocked") tries = Infinity; // it was shown, or VNC would not be either
      if (state !== "lost" || --tries) return;
      view.remove();
      this.#vnc();
    });
    this.#source = {
      stream: view,
      paste: (text) => view.paste(text),
      type: (text) => view.type(text),
      focus: () => view.focus(),
      place: () => ({ box: view.screen.getBoundingClientRect(), width: view.size.width }),
    };
    this.screen.append(view);
  }

  async #vnc() {
    const [{ VncConnection }, { addFocusByEnter }, { translate }] = await Promise.all([
      import("/static/vnc/connection.js"),
      import("/static/screen_focus.js"),
      import("/static/vnc/strings.js"),
    ]);
    const address = new URL("/websockify", location.origin);
    address.protocol = address.protocol.replace("http", "ws");
    const { state, copied } = this.listener;
    const listener = { state, control: () => {}, copied: (/** @type {string} */ text) => copied({ text }) };
    const viewer = new VncConnection(this.screen, { address, watch: false }, listener);
    this.#source = {
      paste: (text) => viewer.paste(text),
      type: (text) => viewer.type(text),
      focus: () => viewer.focus(),
      place: () => {
        const canvas = this.screen.querySelector("canvas");
        return canvas ? { box: canvas.getBoundingClientRect(), width: canvas.width } : undefined;
      },
    };
    addFocusByEnter(this.screen, { label: translate("screen"), hint: translate("enterToControl") }, () => viewer.focus());
    viewer.connect();
  }
}

/** Whether this browser can show the stream, and this sandbox has one. */
async function hasStream() {
  if (!HTMLCanvasElement.prototype.transferControlToOffscreen) return false;
  const page = await fetch("/stream/", { method: "HEAD" }).catch(() => null);
  return page?.status !== 404;
}
