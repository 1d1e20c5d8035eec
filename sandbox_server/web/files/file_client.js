// The file operations of the API, as the files page uses them.

import { ApiError, call } from "/static/api.js";
import { encoded } from "./paths.js";

/** @typedef {import("./entries.js").Entry} Entry */

/** Entries of a folder in one answer. */
const LISTED = 10_000;
/** Names of a search. */
const FOUND = 500;
const LONG_MS = 300_000;

/** A file operation that failed. */
export class FileError extends ApiError {
  /** @param {string} message @param {string} kind such as `not_found` @param {number} [status] */
  constructor(message, kind, status = 200) {
    super(status, message);
    this.kind = kind;
  }
}

/** @param {string} operation @param {object} body @param {{timeout?: number}} [options] */
async function operate(operation, body, options) {
  const answer = await call("POST", `/v1/file/${operation}`, { body, whole: true, ...options });
  if (!answer?.success) throw new FileError(answer?.message ?? "", answer?.data?.error_type ?? "");
  return answer.data;
}

/** @param {string} path @param {number} [offset] @returns {Promise<{files: Entry[], total_count: number}>} */
export const list = (path, offset = 0) => operate("list", { path, offset, limit: LISTED });

/** Names below a folder that contain a text. @param {string} path @param {string} text @param {boolean} hidden @returns {Promise<{files: Entry[], truncated: boolean}>} */
export const search = (path, text, hidden) =>
  operate("glob", { path, pattern: `**/*${pattern(text)}*`, include_hidden: hidden, files_only: false, max_results: FOUND }, { timeout: LONG_MS });

/** A glob for a text in either case. @param {string} text */
function pattern(text) {
  return [...text].map((letter) => {
    const [lower, upper] = [letter.toLowerCase(), letter.toUpperCase()];
    if ("*?[".includes(letter)) return `[${letter}]`;
    return lower !== upper && lower.length + upper.length === 2 * letter.length ? `[${lower}${upper}]` : letter;
  }).join("");
}

/** @param {string} path @returns {Promise<{type: string} | undefined>} of the path itself; undefined where there is nothing */
export async function status(path) {
  try {
    return await operate("stat", { path, follow_symlinks: false });
  } catch (error) {
    if (error instanceof FileError && error.kind === "not_found") return undefined;
    throw error;
  }
}

/** @param {string} path */
export const makeFolder = (path) => operate("mkdir", { path, parents: false, exist_ok: false });

/** Nothing is replaced. @param {string} path @param {string} destination */
export const move = (path, destination) => operate("move", { path, destination }, { timeout: LONG_MS });

/** @param {Entry} entry */
export const remove = ({ path, is_directory: folder, is_symlink: link }) => operate("delete", { path, recursive: folder && !link }, { timeout: LONG_MS });

/** @param {string} path */
export const downloadAddress = (path) => `/v1/file/download?path=${encoded(path)}`;

/**
 * The start of a file.
 * @param {string} path
 * @param {number} limit in bytes
 * @param {AbortSignal} signal
 * @returns {Promise<{bytes: Uint8Array<ArrayBuffer>, size: number}>} `size` is the whole file's
 */
export async function start(path, limit, signal) {
  const response = await fetch(downloadAddress(path), { headers: { Range: `bytes=0-${limit - 1}` }, cache: "no-store", signal });
  if (response.status === 416) return { bytes: new Uint8Array(), size: 0 };
  if (!response.ok) throw new ApiError(response.status, (await response.json().catch(() => null))?.message ?? String(response.status));
  const bytes = await upTo(response, limit);
  const total = response.headers.get("Content-Range")?.split("/")[1] ?? response.headers.get("Content-Length");
  return { bytes, size: Math.max(Number(total) || 0, bytes.length) };
}

/** @param {Response} response @param {number} limit */
async function upTo(response, limit) {
  const found = new Uint8Array(limit);
  const reader = response.body?.getReader();
  let length = 0;
  while (reader && length < limit) {
    const { done, value } = await reader.read();
    if (done) break;
    found.set(value.subarray(0, limit - length), length);
    length += Math.min(value.length, limit - length);
  }
  reader?.cancel().catch(() => {});
  return found.slice(0, length);
}

/**
 * Upload one file to a path; what is there is replaced.
 * @param {string} path
 * @param {File} file
 * @param {{progress: (share: number) => void, signal: AbortSignal}} options
 */
export async function upload(path, file, { progress, signal }) {
  const body = new FormData();
  body.append("path", path);
  body.append("file", file);
  const request = new XMLHttpRequest(); // fetch reports no progress of an upload
  request.upload.onprogress = ({ loaded, total }) => progress(total ? loaded / total : 0);
  request.responseType = "json";
  request.open("POST", "/v1/file/upload");
  signal.addEventListener("abort", () => request.abort(), { once: true });
  await new Promise((done, failed) => {
    request.onload = done;
    request.onerror = () => failed(new TypeError("no answer"));
    request.onabort = () => failed(new DOMException("stopped", "AbortError"));
    request.send(body);
  });
  const answer = request.response;
  if (request.status !== 200 || !answer?.success) throw new FileError(answer?.message ?? "", answer?.data?.error_type ?? "", request.status);
}
