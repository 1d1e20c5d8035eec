// The strings of connections in the record.

import assert from "node:assert/strict";
import { test } from "node:test";

import { openDocument } from "../browser/dom.mjs";

openDocument();
location.search = "?lang=en";
const { connectionSegments } = await import("/static/recorder/connection_strings.js");

test("a sentence is in pieces, of which what a program wrote is marked", () => {
  assert.deepEqual(connectionSegments("connectedTo", { program: "pip", places: "{program}" }, ["program", "places"]), [
    { text: "pip", code: true }, { text: " connected to " }, { text: "{program}", code: true },
  ]);
  assert.deepEqual(connectionSegments("networkOpen"), [{ text: "The network is open again" }]);
});
