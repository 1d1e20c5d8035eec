// <tandem-view>: the desktop, live, and used where that is allowed. What it takes and tells is in docs/stream-protocol.md, "The element".

import { Acts, STYLE as ACTS_STYLE } from "./acts.js";
import { CodecMap } from "./codec-map.js";
import { Input } from "./input.js";
import { lacks } from "./lacks.js";
import { Speaker, speaks } from "./speaker.js";
import { Peer } from "./peer.js";
import { Video } from "./video.js";
import { Voice, listens } from "./voice.js";
import { say } from "./wire.js";

const STYLE = `
  :host { display: block; position: relative; overflow: hidden; background: #101316; outline: none }
  .screen { position: absolute; left: 50%; top: 50%; transform: translate(-50%, -50%); touch-action: pinch-zoom; user-select: none; -webkit-user-select: none; -webkit-touch-callout: none }
  canvas { position: absolute; inset: 0; width: 100%; height: 100% }
  img, video { position: absolute; pointer-events: none }
  video { object-fit: fill }
  textarea { position: absolute; left: 0; top: 0; width: 1px; height: 1px; opacity: 0; border: 0; padding: 0; resize: none }
  .cover { position: absolute; inset: 0; display: grid; place-items: center; background: #262a30; color: #ebeef2; font: 600 1.1rem/1.5 system-ui }
  .cover[hidden] { display: none }
  pre { position: absolute; left: 0; top: 0; margin: 0; padding: .5em .75em; background: #000a; color: #fff; font: 12px/1.5 monospace; pointer-events: none }
`;

/** Characters of one message, which holds 4096 bytes. */
const TYPED_AT_ONCE = 1000;
/** A window that is dragged larger has one size at the end. */
const SETTLED_MS = 300;
/** Its address, when none is given. */
const ADDRESS = "/stream/socket";

export class TandemView extends HTMLElement {
  static observedAttributes = ["watch", "statistics", "codec-map", "trackpad", "sound", "microphone", "resize"];
  /** @type {Worker | undefined} */
  #worker;
  /** @type {Peer | undefined} */
  #peer;
  #size = { width: 1, height: 1 };
  #control = false;
  #driving = false;
  #cursor = "default";
  /** @type {Input | undefined} */
  #input;
  /** @type {CodecMap | undefined} */
  #map;
  /** @type {Speaker | undefined} */
  #speaker;
  #microphone = false;
  /** Packets of speech that were said, for who wants to know that there is some. */
  spoken = 0;
  /** @type {Voice | undefined} */
  #voice;
  #asking = 0;
  /** @type {Acts} */
  #acts;

  constructor() {
    super();
    const root = this.attachShadow({ mode: "open" });
    const style = document.createElement("style");
    style.textContent = STYLE + ACTS_STYLE;
    this.screen = document.createElement("div");
    this.screen.className = "screen";
    this.canvas = document.createElement("canvas");
    this.field = document.createElement("textarea");
    this.field.setAttribute("aria-label", "Keyboard of the desktop");
    Object.assign(this.field, { autocapitalize: "off", autocomplete: "off", autocorrect: false, spellcheck: false });
    this.shown = document.createElement("pre");
    this.pointer = document.createElement("img");
    this.pointer.alt = "";
    this.pointer.hidden = true;
    this.video = new Video((seen) => this.#worker?.postMessage(seen));
    this.screen.append(this.canvas, this.video.element, this.field);
    this.#acts = new Acts(this.screen, () => this.#size);
    this.screen.append(this.pointer);
    this.cover = document.createElement("div");
    this.cover.className = "cover";
    this.cover.textContent = "Private";
    this.cover.hidden = true;
    root.append(style, this.screen, this.cover, this.shown);
    this.shown.hidden = true;
  }

  connectedCallback() {
    if (this.#worker) return;
    const address = new URL(this.getAttribute("src") ?? ADDRESS, location.href);
    address.protocol = address.protocol.replace("http", "ws");
    this.#worker = new Worker(new URL("./worker.js", import.meta.url), { type: "module" });
    this.#worker.onmessage = ({ data }) => this.#heard(data);
    this.#peer = new Peer(this.#worker, (film) => this.video.attach(film));
    const canvas = this.canvas.transferControlToOffscreen();
    this.#worker.postMessage({ kind: "start", canvas, address: address.href }, [canvas]);
    this.#input = new Input(this.screen, this.field, () => this.#size, (message) => this.#send(message));
    this.#input.moved = () => this.#follow(/** @type {Input} */ (this.#input).place);
    this.resized = new ResizeObserver(() => {
      this.#fit();
      this.#ask();
    });
    this.resized.observe(this);
    document.addEventListener("visibilitychange", this.#seen);
    this.#allow();
    this.attributeChangedCallback("codec-map");
    this.attributeChangedCallback("statistics");
  }

  disconnectedCallback() {
    this.#peer?.close();
    this.#worker?.terminate();
    this.#worker = undefined;
    this.#speaker?.close();
    this.#speaker = undefined;
    this.#voice?.close();
    this.#voice = undefined;
    this.resized?.disconnect();
    document.removeEventListener("visibilitychange", this.#seen);
    this.canvas.replaceWith((this.canvas = document.createElement("canvas")));
  }

  /** @param {string} name */
  attributeChangedCallback(name) {
    if (name === "watch" || name === "trackpad") this.#allow();
    else if (name === "sound") this.#hear();
    else if (name === "microphone") this.#speak();
    else if (name === "resize") this.#ask();
    else if (name === "statistics") this.shown.hidden = !this.hasAttribute("statistics");
    else this.#showMap();
  }

  focus() {
    this.field.focus({ preventScroll: true });
  }

  /** @param {string} text put on the desktop's clipboard */
  paste(text) {
    this.#send(say.copied(text));
  }

  /** @param {string} text typed on the desktop, key by key */
  type(text) {
    const characters = [...text];
    for (let at = 0; at < characters.length; at += TYPED_AT_ONCE) {
      this.#send(say.text(characters.slice(at, at + TYPED_AT_ONCE).join("")));
    }
  }

  /** The size of the desktop's screen in pixels. */
  get size() {
    return { ...this.#size };
  }

  /** Whether this viewer's mouse and keyboard count now. */
  get driving() {
    return this.#driving;
  }

  /** Whether they count, or take control when they are used. */
  get control() {
    return this.#control && !this.hasAttribute("watch");
  }

  #seen = () => this.#send(say.visible(!document.hidden));

  /** @param {ArrayBuffer} message */
  #send(message) {
    this.#worker?.postMessage(message, [message]);
  }

  /** @param {any} message of the worker */
  #heard(message) {
    switch (message.kind) {
      case "size":
        this.#size = { width: message.width, height: message.height };
        this.#fit();
        break;
      case "rights":
        this.#control = message.control;
        if (message.driving || message.hidden) this.#acts.clear();
        if (message.driving !== this.#driving) this.#ask();
        this.#driving = message.driving;
        this.cover.hidden = !message.hidden;
        this.#microphone = message.microphone && listens();
        this.#allow();
        this.#speak();
        break;
      case "cursor":
        return this.#point(message);
      case "pointer":
        if (this.#input) this.#input.place = { x: message.x, y: message.y };
        this.#follow(message);
        break;
      case "acted":
        if (!this.hasAttribute("quiet-agent")) this.#acts.show(message);
        break;
      case "sound":
        return this.#speaker?.play(message.number, message.packet);
      case "clip":
        return this.#copied(message.forms);
      case "peer":
        return this.#beside(message);
      case "track":
        if (message.do === "over") return this.video.over(message.areas);
        return message.do === "place" ? this.video.place(message) : this.video.end();
      case "map":
        return this.#map?.show(message.rects);
      case "statistics":
        this.#count(message);
        break;
      case "state":
        if (message.state !== "connected") break;
        this.#seen();
        if (this.#speaker) this.#send(say.listens(true));
    }
    const { kind, ...detail } = message;
    this.dispatchEvent(new CustomEvent(kind, { detail }));
  }

  #allow() {
    const trackpad = this.hasAttribute("trackpad");
    this.pointer.hidden = this.#driving && !trackpad;
    this.screen.style.cursor = this.#driving ? this.#cursor : "default";
    if (!this.#input) return;
    if (!this.control) this.#input.release();
    this.#input.touch.trackpad = trackpad;
    this.#input.enabled = this.control;
  }

  /** @param {{do: string, text: string, lane: number, message: ArrayBuffer, track: boolean}} asked of the page, which alone has connections */
  #beside({ do: what, text, lane, message, track }) {
    if (what === "open") this.hasAttribute("websocket") || this.#peer?.open(track);
    else if (what === "answer") this.#peer?.answer(text);
    else if (what === "send") this.#peer?.send(lane, message);
    else this.#peer?.close();
  }

  /** The whole picture, as large as there is room; never larger than it is. */
  #fit() {
    const { width, height } = this.#size;
    const scale = Math.min(1, this.clientWidth / width, this.clientHeight / height);
    this.screen.style.width = `${width * scale}px`;
    this.screen.style.height = `${height * scale}px`;
    this.#map?.resize(this.#size);
    this.video.resize(this.#size);
  }

  /** Have the desktop's screen follow this element's size, a little after that has changed; only who drives is heard. */
  #ask() {
    clearTimeout(this.#asking);
    this.#asking = setTimeout(() => {
      if (!this.hasAttribute("resize") || !this.#driving || !this.control || !this.clientWidth) return;
      this.#send(say.fit(this.clientWidth, this.clientHeight));
    }, SETTLED_MS);
  }

  /** @param {{width: number, height: number, hotX: number, hotY: number, pixels: Uint8Array}} cursor */
  #point({ width, height, hotX, hotY, pixels }) {
    const picture = document.createElement("canvas");
    [picture.width, picture.height] = [width, height];
    const image = new ImageData(width, height);
    for (let at = 0; at < pixels.length; at += 4) {
      const alpha = pixels[at + 3];
      for (const [to, from] of [[0, 2], [1, 1], [2, 0]]) image.data[at + to] = alpha ? (pixels[at + from] * 255) / alpha : 0;
      image.data[at + 3] = alpha;
    }
    picture.getContext("2d")?.putImageData(image, 0, 0);
    this.pointer.src = picture.toDataURL();
    this.pointer.style.transform = `translate(${-hotX}px, ${-hotY}px)`;
    this.#cursor = `url(${this.pointer.src}) ${hotX} ${hotY}, default`;
    this.#allow();
  }

  /** @param {{x: number, y: number}} place of the pointer, which somebody else moves */
  #follow({ x, y }) {
    this.pointer.style.left = `${(x / this.#size.width) * 100}%`;
    this.pointer.style.top = `${(y / this.#size.height) * 100}%`;
  }

  /** Play the desktop's sound, or do not. */
  #hear() {
    const on = this.hasAttribute("sound") && speaks();
    if (on === (this.#speaker !== undefined)) return;
    this.#speaker?.close();
    this.#speaker = on ? new Speaker() : undefined;
    this.#speaker?.start();
    this.#send(say.listens(on));
  }

  /** Whether the desktop has a microphone that can hear this viewer, while it drives. */
  get microphone() {
    return this.#microphone && this.control;
  }

  /** Let the desktop's microphone hear the person, or do not. */
  async #speak() {
    const on = this.hasAttribute("microphone") && this.microphone;
    if (!on) {
      this.#voice?.close();
      this.#voice = undefined;
    } else if (!this.#voice) await this.#listen();
    if (this.#voice) this.#voice.muted = !this.#driving;
  }

  async #listen() {
    const voice = (this.#voice = new Voice((number, packet) => {
      this.spoken++;
      this.#worker?.postMessage({ kind: "say", message: say.spoken(number, packet) });
    }));
    try {
      await voice.start();
    } catch (error) {
      this.removeAttribute("microphone");
      this.dispatchEvent(new CustomEvent("microphone", { detail: { reason: String(error) } }));
    }
  }

  /** Why this browser shows or plays less here than it could: a promise of "insecure", "codec" or nothing. */
  get lacks() {
    return lacks();
  }

  /** Packets of sound that were heard since it is on. */
  get heard() {
    return this.#speaker?.heard ?? 0;
  }

  /** Pictures of films that were seen as video, where there is no WebCodecs. */
  get filmed() {
    return this.video.count;
  }

  /** @param {Record<string, Uint8Array<ArrayBuffer>>} forms more than a text */
  #copied(forms) {
    const [text, html] = ["text/plain", "text/html"].map((form) => new TextDecoder().decode(forms[form] ?? new Uint8Array()));
    const png = forms["image/png"] && new Blob([forms["image/png"]], { type: "image/png" });
    this.dispatchEvent(new CustomEvent("clipboard", { detail: { text, html, png } }));
  }

  #showMap() {
    const on = this.hasAttribute("codec-map");
    this.#worker?.postMessage({ kind: "map", on });
    this.#map?.remove();
    this.#map = on ? new CodecMap(this.screen, this.#size) : undefined;
  }

  /** @param {{frames: number, late: number, bytes: number, roundTrip: number, decoding: number, datagrams: boolean}} counted in the last second */
  #count({ frames, late, bytes, roundTrip, decoding, datagrams }) {
    const [rate, trip, work] = [(bytes * 8) / 1000, roundTrip, decoding].map((value) => value.toFixed(value < 10 ? 1 : 0));
    this.shown.textContent = `${frames} frames/s, ${late} late\n${rate} kbit/s\n${trip} ms there and back\n${work} ms to decode and draw\nover ${datagrams ? "UDP" : "a WebSocket"}`;
  }
}

customElements.define("tandem-view", TandemView);
