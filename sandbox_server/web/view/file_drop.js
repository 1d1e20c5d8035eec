// File drop: uploads files that are dropped on the screen or chosen to the desktop's Downloads, and shows where they are.

import { ApiError, call } from "/static/api.js";
import { translate } from "./strings.js";

const FOLDER = "~/Downloads";
const SHOWN_MS = 20000;

export class FileDrop {
  /** @type {Promise<void>} uploads run one after the other */
  #queue = Promise.resolve();

  /**
   * @param {{over: HTMLElement, notes: HTMLElement, choose: HTMLButtonElement, files: HTMLInputElement}} parts `over`: where files can be dropped; `notes`: where their progress is shown
   */
  constructor({ over, notes, choose, files }) {
    this.over = over;
    this.notes = notes;
    choose.onclick = () => files.click();
    files.onchange = () => {
      this.#upload([...(files.files ?? [])]);
      files.value = "";
    };
    over.addEventListener("dragover", (event) => this.#hover(event));
    over.addEventListener("dragleave", () => over.removeAttribute("data-drop"));
    over.addEventListener("drop", (event) => this.#drop(event));
  }

  /** @param {DragEvent} event */
  #hover(event) {
    if (!event.dataTransfer?.types.includes("Files")) return;
    event.preventDefault();
    event.dataTransfer.dropEffect = "copy";
    this.over.dataset.drop = translate("drop");
  }

  /** @param {DragEvent} event */
  #drop(event) {
    if (!event.dataTransfer?.types.includes("Files")) return;
    event.preventDefault();
    this.over.removeAttribute("data-drop");
    this.#upload([...event.dataTransfer.files]);
  }

  /** @param {File[]} files */
  #upload(files) {
    for (const file of files) {
      const note = new Note(this.notes, file.name);
      this.#queue = this.#queue.then(() => upload(file, (share) => note.progress(share))).then(
        (path) => note.done(translate("dropped_at", { path })),
        (error) => note.done(translate("failed", { reason: `${file.name}: ${error.message}` })),
      );
    }
  }
}

/** The notice of one upload. */
class Note {
  /** @param {HTMLElement} place @param {string} name */
  constructor(place, name) {
    this.element = document.createElement("div");
    this.element.className = "notice";
    this.text = document.createElement("p");
    this.text.textContent = translate("sending", { name });
    this.bar = document.createElement("progress");
    this.bar.setAttribute("aria-label", this.text.textContent);
    this.element.append(this.text, this.bar);
    place.append(this.element);
  }

  /** @param {number} share of it that was sent, up to 1 */
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
 * Upload one file.
 * @param {File} file
 * @param {(share: number) => void} progress
 * @returns {Promise<string>} its path on the desktop
 */
async function upload(file, progress) {
  const body = new FormData();
  body.append("path", `${FOLDER}/${await freeName(file.name)}`);
  body.append("file", file);
  const request = new XMLHttpRequest(); // fetch reports no progress of an upload
  request.upload.onprogress = ({ loaded, total }) => progress(loaded / total);
  request.responseType = "json";
  request.open("POST", "/v1/file/upload");
  await new Promise((done, failed) => {
    request.onload = done;
    request.onerror = () => failed(new Error(translate("disconnected")));
    request.send(body);
  });
  const answer = request.response;
  if (request.status !== 200 || !answer?.success) throw new ApiError(request.status, answer?.message ?? String(request.status));
  return answer.data.file_path;
}

/** A name that is free in the folder: nothing is overwritten. @param {string} name */
async function freeName(name) {
  const listed = await call("POST", "/v1/file/list", { body: { path: FOLDER }, whole: true });
  const taken = new Set((listed?.data?.files ?? []).map((/** @type {{name: string}} */ each) => each.name));
  const [, stem, ending] = /** @type {RegExpMatchArray} */ (name.match(/^(.+?)(\.[^.]*)?$/s));
  for (let number = 0; ; number++) {
    const found = number ? `${stem} (${number})${ending ?? ""}` : name;
    if (!taken.has(found)) return found;
  }
}
