// The client of the checkpoints' operations.

import { call } from "/static/api.js";

/**
 * @typedef {object} Checkpoint
 * @property {string} id
 * @property {string | null} parent
 * @property {string} label
 * @property {string} who
 * @property {"asked" | "before_restore" | "before_risk" | "imported" | "squashed"} why
 * @property {number} created seconds since the epoch
 * @property {number | null} files
 * @property {number | null} bytes
 * @typedef {{head: string | null, checkpoints: Checkpoint[]}} CheckpointList the oldest first
 * @typedef {{command: string}} Program
 * @typedef {{checkpoint: Checkpoint, pause_ms: number | null, stopped: Program[]}} Made
 * @typedef {{kept: Checkpoint | null, stopped: Program[]}} Restored
 * @typedef {{stops: Program[], changed: boolean}} Preview
 * @typedef {{name: string, change: "added" | "changed" | "deleted" | null, added: number, changed: number, deleted: number, before: number, after: number}} TreeEntry
 * @typedef {{entries: TreeEntry[], more: boolean, truncated: boolean}} TreeLevel
 */

/** The state before anything was done, as the API names it. */
export const IMAGE = "image";
/** The files as they are now. */
export const CURRENT = "current";

/** What is copied may be much, and programs that are stopped may take their time. */
const COPY_MS = 600_000;
const RESTORE_MS = 120_000;
const COMPARE_MS = 120_000;
/** Names of a directory that are asked for at once. */
const PAGE = 100;

const ROOT = "/v1/checkpoints";

/** @param {string} id */
const path = (id) => `${ROOT}/${encodeURIComponent(id)}`;

/** @returns {Promise<CheckpointList>} */
export const listCheckpoints = () => call("GET", ROOT);

/** @param {string} label @returns {Promise<Made>} */
export const makeCheckpoint = (label) => call("POST", ROOT, { body: { label }, timeout: COPY_MS });

/** What going back would do. @param {string} id @returns {Promise<Preview>} */
export const previewRestore = (id) => call("GET", `${path(id)}/restore`);

/** @param {string} id @returns {Promise<Restored>} */
export const restoreCheckpoint = (id) => call("POST", `${path(id)}/restore`, { body: {}, timeout: RESTORE_MS });

/** Remove the automatic checkpoints as far as that can be done. @returns {Promise<{removed: string[]}>} */
export const pruneCheckpoints = () => call("POST", `${ROOT}/prune`, { body: { keep: 0 }, timeout: COPY_MS });

/**
 * What differs in one directory from `older` to `newer`, by names behind `after`.
 * @param {{older: string, newer: string}} states
 * @param {string} under
 * @param {string} [after]
 * @returns {Promise<TreeLevel>}
 */
export function changesUnder({ older, newer }, under, after = "") {
  const query = new URLSearchParams({ against: older, under, limit: String(PAGE), ...(after && { after }) });
  return call("GET", `${path(newer)}/tree?${query}`, { timeout: COMPARE_MS });
}
