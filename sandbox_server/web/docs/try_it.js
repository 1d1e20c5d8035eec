// The form that calls an operation from the page, with the page's session.

import { bodyValues, sampleValues, target } from "/static/docs/code_samples.js";
import { element } from "/static/docs/elements.js";
import { translate } from "/static/docs/strings.js";

/** @typedef {import("/static/docs/openapi.js").Operation} Operation */
/** @typedef {import("/static/docs/openapi.js").Field} Field */

/** Characters of a response that are shown. */
const SHOWN = 200_000;

export class TryIt {
  /**
   * @param {HTMLFormElement} form
   * @param {Operation} operation
   */
  constructor(form, operation) {
    this.form = form;
    this.operation = operation;
    this.outcome = this.#find(".outcome");
    this.result = this.#find(".result");
    this.stop = this.#find(".stop");
    const example = sampleValues(operation); // filled in, so that Send works at once
    this.#find(".inputs").replaceChildren(...operation.fields.map((field) => input(field, example[field.name])), ...rawInput(operation));
    this.#find(".follow").hidden = !operation.streams || operation.mediaTypes.length === 1;
    form.addEventListener("submit", (event) => {
      event.preventDefault();
      this.#send();
    });
    this.stop.addEventListener("click", () => this.abort?.abort());
  }

  /** Abort the request: its response would belong to another operation. */
  close() {
    this.abort?.abort();
  }

  /** @param {string} selector @returns {HTMLElement} */
  #find(selector) {
    return /** @type {HTMLElement} */ (this.form.querySelector(selector));
  }

  async #send() {
    this.close();
    const abort = (this.abort = new AbortController());
    const began = performance.now();
    this.result.replaceChildren();
    this.outcome.textContent = translate("sending");
    this.stop.hidden = false;
    try {
      const { path, options } = this.#request();
      const response = await fetch(path, { ...options, signal: abort.signal });
      this.outcome.textContent = translate("outcome", { status: `${response.status} ${response.statusText}`, ms: Math.round(performance.now() - began) });
      await this.#show(response);
    } catch (error) {
      this.outcome.textContent = abort.signal.aborted ? translate("stopped") : /** @type {Error} */ (error).message;
    } finally {
      this.stop.hidden = true;
    }
  }

  /** @returns {{path: string, options: RequestInit}} */
  #request() {
    const values = this.#values();
    const { verb, bodyType, streams, mediaTypes } = this.operation;
    const follow = streams && (mediaTypes.length === 1 || /** @type {HTMLInputElement} */ (this.#find("[name=follow]")).checked);
    /** @type {Record<string, string>} */
    const headers = { Accept: follow ? "text/event-stream" : "*/*" };
    /** @type {BodyInit | undefined} */
    let body;
    if (bodyType === "multipart/form-data") {
      body = new FormData();
      Object.entries(bodyValues(this.operation, values)).forEach(([name, value]) => /** @type {FormData} */ (body).append(name, value));
    } else if (bodyType === "application/json") {
      headers["Content-Type"] = bodyType;
      body = JSON.stringify(bodyValues(this.operation, values));
    } else if (bodyType) {
      headers["Content-Type"] = bodyType;
      body = /** @type {HTMLInputElement} */ (this.#find("[name='raw body']")).files?.[0];
    }
    return { path: target(this.operation, values), options: { method: verb, headers, body } };
  }

  /** @returns {Record<string, any>} the fields that were filled in; throws an Error that names an invalid one */
  #values() {
    /** @type {Record<string, any>} */
    const values = {};
    for (const field of this.operation.fields) {
      const given = /** @type {HTMLInputElement} */ (this.form.elements.namedItem(`field ${field.name}`));
      const value = field.type === "file" ? given.files?.[0] : given.value;
      if (value !== undefined && value !== "") {
        values[field.name] = typeof value === "string" ? read(field, value) : value;
      }
    }
    return values;
  }

  /** @param {Response} response */
  async #show(response) {
    const type = (response.headers.get("content-type") ?? "").split(";")[0];
    if (type === "text/event-stream") {
      await this.#showEvents(response);
    } else if (type.startsWith("image/")) {
      this.result.append(element("img", { src: URL.createObjectURL(await response.blob()), alt: "the answer" }));
    } else if (type === "application/json" || type.startsWith("text/")) {
      this.result.append(element("pre", { tabindex: "0", text: pretty(await response.text(), type) }));
    } else {
      const blob = await response.blob();
      const name = this.operation.name;
      this.result.append(element("a", { href: URL.createObjectURL(blob), download: name, text: `Save ${blob.size} bytes` }));
    }
  }

  /** @param {Response} response */
  async #showEvents(response) {
    const shown = element("pre", { tabindex: "0" });
    this.result.append(shown);
    const decoder = new TextDecoder();
    for await (const piece of chunks(/** @type {ReadableStream<Uint8Array>} */ (response.body))) {
      shown.append(decoder.decode(piece, { stream: true }));
      shown.scrollTop = shown.scrollHeight;
    }
  }
}

/**
 * The chunks of a stream. Not every browser has an async iterator for it.
 * @param {ReadableStream<Uint8Array>} stream
 */
async function* chunks(stream) {
  const reader = stream.getReader();
  for (let read = await reader.read(); !read.done; read = await reader.read()) yield read.value;
}

/**
 * @param {Field} field
 * @param {any} example undefined: none
 */
function input(field, example) {
  const name = `field ${field.name}`;
  const label = element("span", {}, element("code", { text: field.name }), ...(field.required ? [element("span", { class: "mark must", text: "required" })] : []));
  const made = /** @type {HTMLInputElement} */ (control(field, name));
  if (example !== undefined && field.type !== "file") {
    made.value = typeof example === "string" ? example : JSON.stringify(example);
  }
  return element("label", { class: "input" }, label, made);
}

/**
 * @param {Field} field
 * @param {string} name
 */
function control(field, name) {
  const required = field.required ? "" : undefined;
  const placeholder = field.initial === null ? field.type : JSON.stringify(field.initial);
  const choices = field.choices ?? (field.type === "boolean" ? [true, false] : null);
  if (choices) {
    const texts = choices.map(String);
    return element("select", { name, required }, element("option", { value: "", text: field.required ? "" : `(${placeholder})` }), ...texts.map((text) => element("option", { text })));
  }
  if (field.type === "file") {
    return element("input", { name, type: "file", required });
  }
  if (field.type === "integer" || field.type === "number") {
    return element("input", { name, type: "number", step: field.type === "number" ? "any" : "1", required, placeholder });
  }
  return element("textarea", { name, rows: "1", required, placeholder, spellcheck: "false" });
}

/** @param {Operation} operation */
function rawInput(operation) {
  const raw = operation.bodyType !== null && !["application/json", "multipart/form-data"].includes(operation.bodyType);
  return raw ? [element("label", { class: "input" }, element("span", { text: "body" }), element("input", { name: "raw body", type: "file" }))] : [];
}

/**
 * @param {Field} field
 * @param {string} text
 */
function read(field, text) {
  if (field.type === "string") {
    return text;
  }
  try {
    return JSON.parse(text);
  } catch {
    if (field.choices) {
      return text;
    }
    throw new Error(`${field.name} has to be JSON: ${field.type}`);
  }
}

/**
 * @param {string} text
 * @param {string} type
 */
function pretty(text, type) {
  const shown = type === "application/json" && text.length < SHOWN ? JSON.stringify(JSON.parse(text), null, 2) : text;
  return shown.length < SHOWN ? shown : `${shown.slice(0, SHOWN)}\n… and ${shown.length - SHOWN} characters more`;
}
