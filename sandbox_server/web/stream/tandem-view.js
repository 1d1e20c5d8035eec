// <tandem-view>: a custom element that shows the desktop live and takes input. docs/stream-protocol.md, "The element", is its reference.

import { InputEcho, STYLE as ECHO_STYLE } from "./input_echo.js";
import { HINT_STYLE, focusByEnter, focusHint } from "../screen_focus.js";
import { CodecMap } from "./codec_map.js";
import { ConnectionNotice, STYLE as NOTICE_STYLE } from "./connection_notice.js";
import { Input } from "./input.js";
import { missingCapability } from "./capabilities.js";
import { AudioPlayback, canPlayAudio } from "./audio_playback.js";
import { PeerConnection } from "./peer_connection.js";
import { VideoOverlay } from "./video_overlay.js";
import { Microphone, canRecordAudio } from "./microphone.js";
import { translate } from "./strings.js";
import { encode } from "./wire.js";

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

/** Characters of one text message, which holds 4096 bytes. */
const MAX_CHARACTERS = 1000;
/** A window that is being resized is reported once it has rested for this long. */
const SETTLED_MS = 300;
/** The default of `src`. */
const ADDRESS = "/stream/socket";

export class TandemView extends HTMLElement {
  static observedAttributes = ["watch", "statistics", "codec-map", "trackpad", "sound", "microphone", "resize"];
  /** @type {Worker | undefined} */
  #worker;
  /** @type {PeerConnection | undefined} */
  #peer;
  #size = { width: 1, height: 1 };
  #control = false;
  #driving = false;
  #cursor = "default";
  /** @type {Input | undefined} */
  #input;
  /** @type {CodecMap | undefined} */
  #map;
  /** @type {AudioPlayback | undefined} */
  #playback;
  #microphone = false;
  /** How many packets of the microphone were sent. */
  spoken = 0;
  /** @type {Microphone | undefined} */
  #capture;
  #resizing = 0;
  /** @type {InputEcho} */
  #echo;
  /** @type {import("./connection_notice.js").StreamState} */
  #state = "connecting";

  constructor() {
    super();
    const root = this.attachShadow({ mode: "open" });
    const style = document.createElement("style");
    style.textContent = STYLE + ECHO_STYLE + NOTICE_STYLE + HINT_STYLE;
    this.screen = document.createElement("div");
    this.screen.className = "screen";
    this.canvas = document.createElement("canvas");
    this.field = document.createElement("textarea");
    this.field.setAttribute("aria-label", translate("keyboard"));
    this.field.tabIndex = -1; // Tab comes to the screen; Enter goes on to here
    Object.assign(this.field, { autocapitalize: "off", autocomplete: "off", autocorrect: false, spellcheck: false });
    this.shown = document.createElement("pre");
    this.pointer = document.createElement("img");
    this.pointer.alt = "";
    this.pointer.hidden = true;
    this.video = new VideoOverlay((presented) => this.#worker?.postMessage(presented));
    this.screen.append(this.canvas, this.video.element, this.field);
    this.#echo = new InputEcho(this.screen, () => this.#size);
    this.screen.append(this.pointer);
    this.hint = focusHint("");
    this.notice = new ConnectionNotice(this.screen, {
      size: (size) => this.#take(size),
      hidden: (hidden) => (this.cover.hidden = !hidden),
    });
    focusByEnter(this.screen, () => this.#enter());
    this.cover = document.createElement("div");
    this.cover.className = "cover";
    this.cover.textContent = translate("private");
    this.cover.hidden = true;
    root.append(style, this.screen, this.hint, this.cover, this.shown, this.notice.element);
    this.shown.hidden = true;
  }

  connectedCallback() {
    if (this.#worker) return;
    const address = new URL(this.getAttribute("src") ?? ADDRESS, location.href);
    address.protocol = address.protocol.replace("http", "ws");
    this.#worker = new Worker(new URL("./worker.js", import.meta.url), { type: "module" });
    this.#worker.onmessage = ({ data }) => this.#handle(data);
    this.#peer = new PeerConnection(this.#worker, (track) => this.video.attach(track));
    const canvas = this.canvas.transferControlToOffscreen();
    this.#worker.postMessage({ kind: "start", canvas, address: address.href }, [canvas]);
    this.#input = new Input(this.screen, this.field, () => this.#size, (message) => this.#send(message));
    this.#input.moved = () => this.#movePointer(/** @type {Input} */ (this.#input).place);
    this.resized = new ResizeObserver(() => {
      this.#fit();
      this.#requestSize();
    });
    this.resized.observe(this);
    document.addEventListener("visibilitychange", this.#reportVisibility);
    this.#applyRights();
    this.attributeChangedCallback("codec-map");
    this.attributeChangedCallback("statistics");
  }

  disconnectedCallback() {
    this.notice.close();
    this.#peer?.close();
    this.#worker?.terminate();
    this.#worker = undefined;
    this.#playback?.close();
    this.#playback = undefined;
    this.#capture?.close();
    this.#capture = undefined;
    this.resized?.disconnect();
    document.removeEventListener("visibilitychange", this.#reportVisibility);
    this.canvas.replaceWith((this.canvas = document.createElement("canvas")));
  }

  /** @param {string} name */
  attributeChangedCallback(name) {
    if (name === "watch" || name === "trackpad") this.#applyRights();
    else if (name === "sound") this.#toggleSound();
    else if (name === "microphone") this.#toggleMicrophone();
    else if (name === "resize") this.#requestSize();
    else if (name === "statistics") this.shown.hidden = !this.hasAttribute("statistics");
    else this.#showMap();
  }

  focus() {
    this.field.focus({ preventScroll: true });
  }

  /** @param {string} text put on the desktop's clipboard */
  paste(text) {
    this.#send(encode.copied(text));
  }

  /** @param {string} text typed on the desktop, key by key */
  type(text) {
    const characters = [...text];
    for (let at = 0; at < characters.length; at += MAX_CHARACTERS) {
      this.#send(encode.text(characters.slice(at, at + MAX_CHARACTERS).join("")));
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

  /** Whether they count, or take control when used. */
  get control() {
    return this.#control && !this.hasAttribute("watch");
  }

  #reportVisibility = () => this.#send(encode.visible(!document.hidden));

  /** @param {ArrayBuffer} message */
  #send(message) {
    this.#worker?.postMessage(message, [message]);
  }

  /** @param {any} message of the worker */
  #handle(message) {
    switch (message.kind) {
      case "size":
        this.#take(message);
        break;
      case "rights":
        this.#control = message.control;
        if (message.driving || message.hidden) this.#echo.clear();
        if (message.driving !== this.#driving) this.#requestSize();
        this.#driving = message.driving;
        this.cover.hidden = !message.hidden;
        this.#microphone = message.microphone && canRecordAudio();
        this.#applyRights();
        this.#toggleMicrophone();
        break;
      case "cursor":
        return this.#setCursor(message);
      case "pointer":
        if (this.#input) this.#input.place = { x: message.x, y: message.y };
        this.#movePointer(message);
        break;
      case "acted":
        if (!this.hasAttribute("quiet-agent")) this.#echo.show(message);
        break;
      case "sound":
        return this.#playback?.play(message.number, message.packet);
      case "clip":
        return this.#copied(message.forms);
      case "peer":
        return this.#signal(message);
      case "track":
        if (message.do === "overlay") return this.video.overlay(message.areas);
        return message.do === "place" ? this.video.place(message) : this.video.end();
      case "map":
        return this.#map?.show(message.rects);
      case "statistics":
        this.#showStatistics(message);
        break;
      case "state":
        this.#connection(message.state);
    }
    const { kind, ...detail } = message;
    this.dispatchEvent(new CustomEvent(kind, { detail }));
  }

  /** @param {import("./connection_notice.js").StreamState} state */
  #connection(state) {
    const stopped = ["stalled", "lost", "blocked"].includes(this.#state);
    this.#state = state;
    this.notice.show(state);
    this.hint.hidden = !this.notice.element.hidden; // they have one place
    if (state === "connected") {
      if (stopped) this.#input?.release(); // what was let go meanwhile was not sent
      this.#reportVisibility();
      if (this.#playback) this.#send(encode.listens(true));
    }
    this.#applyRights();
  }

  /** Let the keys act on the desktop, for whom they may. */
  #enter() {
    if (this.control) this.focus();
    return this.control;
  }

  #applyRights() {
    const trackpad = this.hasAttribute("trackpad");
    this.pointer.hidden = this.#driving && !trackpad;
    this.screen.style.cursor = this.#driving ? this.#cursor : "default";
    if (!this.#input) return;
    this.screen.setAttribute("aria-label", translate(this.control ? "screen" : "screenToWatch"));
    this.hint.textContent = translate(this.control ? "enterToControl" : "watchingOnly");
    if (!this.control) this.#input.release();
    this.#input.touch.trackpad = trackpad;
    this.#input.enabled = this.control && !["stalled", "blocked"].includes(this.#state);
  }

  /** @param {{do: string, text: string, id: number, message: ArrayBuffer, track: boolean}} command for the peer connection */
  #signal({ do: what, text, id, message, track }) {
    if (what === "open") this.hasAttribute("websocket") || this.#peer?.open(track);
    else if (what === "answer") this.#peer?.answer(text);
    else if (what === "send") this.#peer?.send(id, message);
    else this.#peer?.close();
  }

  /** @param {{width: number, height: number}} size of the desktop's screen */
  #take({ width, height }) {
    this.#size = { width, height };
    this.#fit();
  }

  /** Scale the picture to the element, and never above its own size. */
  #fit() {
    const { width, height } = this.#size;
    const scale = Math.min(1, this.clientWidth / width, this.clientHeight / height);
    this.screen.style.width = `${width * scale}px`;
    this.screen.style.height = `${height * scale}px`;
    this.#map?.resize(this.#size);
    this.video.resize(this.#size);
  }

  /** Ask for a desktop of this element's size, a little after that has changed. The server obeys whoever drives. */
  #requestSize() {
    clearTimeout(this.#resizing);
    this.#resizing = setTimeout(() => {
      if (!this.hasAttribute("resize") || !this.#driving || !this.control || !this.clientWidth) return;
      this.#send(encode.fit(this.clientWidth, this.clientHeight));
    }, SETTLED_MS);
  }

  /** @param {{width: number, height: number, hotX: number, hotY: number, pixels: Uint8Array}} cursor */
  #setCursor({ width, height, hotX, hotY, pixels }) {
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
    this.#applyRights();
  }

  /** @param {{x: number, y: number}} place of the pointer that is drawn */
  #movePointer({ x, y }) {
    this.pointer.style.left = `${(x / this.#size.width) * 100}%`;
    this.pointer.style.top = `${(y / this.#size.height) * 100}%`;
  }

  /** Play the desktop's sound while the attribute is set. */
  #toggleSound() {
    const on = this.hasAttribute("sound") && canPlayAudio();
    if (on === (this.#playback !== undefined)) return;
    this.#playback?.close();
    this.#playback = on ? new AudioPlayback() : undefined;
    this.#playback?.start();
    this.#send(encode.listens(on));
  }

  /** Whether the desktop has a microphone that can hear this viewer, while it drives. */
  get microphone() {
    return this.#microphone && this.control;
  }

  /** Send the person's microphone while the attribute is set. */
  async #toggleMicrophone() {
    const on = this.hasAttribute("microphone") && this.microphone;
    if (!on) {
      this.#capture?.close();
      this.#capture = undefined;
    } else if (!this.#capture) await this.#record();
    if (this.#capture) this.#capture.muted = !this.#driving;
  }

  async #record() {
    const capture = (this.#capture = new Microphone((number, packet) => {
      this.spoken++;
      this.#worker?.postMessage({ kind: "send", message: encode.spoken(number, packet) });
    }));
    try {
      await capture.start();
    } catch (error) {
      this.removeAttribute("microphone");
      this.dispatchEvent(new CustomEvent("microphone", { detail: { reason: String(error) } }));
    }
  }

  /** The capability that this browser lacks: a promise of "insecure", "codec" or nothing. */
  get lacks() {
    return missingCapability();
  }

  /** How many packets of sound were played since it is on. */
  get heard() {
    return this.#playback?.heard ?? 0;
  }

  /** How many frames of the video track were shown, where there is no WebCodecs. */
  get videoFrames() {
    return this.video.count;
  }

  /** @deprecated the former name of `videoFrames` */
  get filmed() {
    return this.videoFrames;
  }

  /** @param {Record<string, Uint8Array<ArrayBuffer>>} forms by MIME type */
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

  /** @param {{frames: number, late: number, bytes: number, roundTrip: number, decoding: number, datagrams: boolean}} statistics of the last second */
  #showStatistics({ frames, late, bytes, roundTrip, decoding, datagrams }) {
    const [rate, trip, work] = [(bytes * 8) / 1000, roundTrip, decoding].map((value) => value.toFixed(value < 10 ? 1 : 0));
    this.shown.textContent = `${frames} frames/s, ${late} late\n${rate} kbit/s\n${trip} ms there and back\n${work} ms to decode and draw\nover ${datagrams ? "UDP" : "a WebSocket"}`;
  }
}

customElements.define("tandem-view", TandemView);
