// Which capability of the browser is missing.

import assert from "node:assert/strict";
import { test } from "node:test";

import { globals } from "../browser/dom.mjs";

const { missingCapability } = await import("/static/stream/capabilities.js");

/** @param {boolean} secure @param {boolean} [supported] no VideoDecoder at all where it is not given */
async function missing(secure, supported) {
  globals({ isSecureContext: secure, VideoDecoder: supported === undefined ? undefined : { isConfigSupported: async () => ({ supported }) } });
  return missingCapability();
}

test("a page that is not encrypted lacks that first, else the codec is what may be missing", async () => {
  assert.equal(await missing(false, true), "insecure");
  assert.equal(await missing(true, false), "codec");
  assert.equal(await missing(true), "codec");
  assert.equal(await missing(true, true), "");
});
