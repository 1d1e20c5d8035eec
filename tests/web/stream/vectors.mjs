// The golden vectors of the stream, which the tests in Python write and read too.

import { readFileSync } from "node:fs";

export const vectors = JSON.parse(readFileSync(new URL("../../stream/vectors.json", import.meta.url), "utf-8"));

/** @param {string} hex */
export const bytes = (hex) => Uint8Array.from(Buffer.from(hex, "hex"));

/** @param {ArrayBuffer | Uint8Array} buffer */
export const hex = (buffer) => Buffer.from(buffer).toString("hex");

/** Numbers that look random and are the same in each run. @param {number} seed @returns {() => number} from 0 to 1 */
export function randomFrom(seed) {
  return () => (seed = (seed * 48271) % 2147483647) / 2147483647;
}
