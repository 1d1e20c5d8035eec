// Files from this computer: dropped on the screen, or chosen, they go to the desktop's downloads, and it is told where they are.

import { Refused, call } from "/static/api.js";
import { say } from "./words.js";

const FOLDER = "~/Downloads";
const SHOWN_MS = 20000;

export class Drop {
  /** @type {Promise<void>} one after the other */
  #order = Promise.resolve();

  /**
   * @param {{over: HTMLElement, notes: HTMLElement, choose: HTMLButtonElement, files: HTMLInputElement}} parts `over`: where files may be dropped
   */
  constructor({ over, notes, choose, files }) {
    this.over = over;
    this.notes = notes;
    choose.onclick = () => files.click();
    files.onchange = () => {
      this.#send([...(files.files ?? [])]);
      files.value = "";
    };
    over.addEventListener("dragover", (event) => this.#hover(event));
    over.addEventListener("dragleave", () => over.removeAttribute("data-drop"));
    over.addEventListener("drop", (event) => this.#dropped(event));
  }

  /** @param {DragEvent} event */
  #hover(event) {
    if (!event.dataTransfer?.types.includes("Files")) return;
    event.preventDefault();
    event.dataTransfer.dropEffect = "copy";
    this.over.dataset.drop = say("drop");
  }

  /** @param {DragEvent} event */
  #dropped(event) {
    if (!event.dataTransfer?.types.includes("Files")) return;
    event.preventDefault();
    this.over.removeAttribute("data-drop");
    this.#send([...event.dataTransfer.files]);
  }

  /** @param {File[]} files */
  #send(files) {
    for (const file of files) {
      const note = new Note(this.notes, file.name);
      this.#order = this.#order.then(() => sent(file, (share) => note.progress(share))).then(
        (path) => note.done(say("dropped_at", { path })),
        (error) => note.done(say("failed", { reason: `${file.name}: ${error.message}` })),
      );
    }
  }
}

/** What is said of one file. */
class Note {
  /** @param {HTMLElement} place @param {string} name */
  constructor(place, name) {
    this.element = document.createElement("div");
    this.element.className = "notice";
    this.text = document.createElement("p");
    this.text.textContent = say("sending", { name });
    this.bar = document.createElement("progress");
    this.bar.setAttribute("aria-label", this.text.textContent);
    this.element.append(this.text, this.bar);
    place.append(this.element);
  }

  /** @param {number} share of it that has arrived, up to 1 */
  progress(share) {
    this.bar.value = share;
  }

  /** @param {string} text */
  done(text) {
    this.bar.remove();
    this.text.textContent = text;
    setTimeout(() => this.element.remove(), SHOWN_MS);
  }
}

/**
 * Send one file.
 * @param {File} file
 * @param {(share: number) => void} progress
 * @returns {Promise<string>} its path on the desktop
 */
async function sent(file, progress) {
  const body = new FormData();
  body.append("path", `${FOLDER}/${await freeName(file.name)}`);
  body.append("file", file);
  const request = new XMLHttpRequest(); // fetch does not tell how far it is
  request.upload.onprogress = ({ loaded, total }) => progress(loaded / total);
  request.responseType = "json";
  request.open("POST", "/v1/file/upload");
  await new Promise((done, failed) => {
    request.onload = done;
    request.onerror = () => failed(new Error(say("disconnected")));
    request.send(body);
  });
  const answer = request.response;
  if (request.status !== 200 || !answer?.success) throw new Refused(request.status, answer?.message ?? String(request.status));
  return answer.data.file_path;
}

/** A name that nothing in the folder has: what is there stays. @param {string} name */
async function freeName(name) {
  const listed = await call("POST", "/v1/file/list", { body: { path: FOLDER }, whole: true });
  const taken = new Set((listed?.data?.files ?? []).map((/** @type {{name: string}} */ each) => each.name));
  const [, stem, ending] = /** @type {RegExpMatchArray} */ (name.match(/^(.+?)(\.[^.]*)?$/s));
  for (let number = 0; ; number++) {
    const found = number ? `${stem} (${number})${ending ?? ""}` : name;
    if (!taken.has(found)) return found;
  }
}
