import assert from "node:assert/strict";
import { test } from "node:test";
import { EventParser } from "./node_modules/tandem-client/dist/events.js";

const TEXT = ": hello\n\nid: 1\nevent: output\ndata: {\"a\": 1}\n\nid: 2\r\ndata: two\r\ndata:lines\r\n\r\nevent: empty\n\ndata\n\n";
const WANTED = [
  { name: "output", data: { a: 1 }, id: "1" },
  { name: "message", data: "two\nlines", id: "2" },
  { name: "message", data: "", id: "2" },
];

test("events are the same however the text is cut", () => {
  for (const size of [1, 2, 3, 5, 7, TEXT.length]) {
    const parser = new EventParser();
    const found = [];
    for (let at = 0; at < TEXT.length; at += size) found.push(...parser.take(TEXT.slice(at, at + size)));
    assert.deepEqual(found, WANTED);
    assert.equal(parser.last, "2");
  }
});

test("an event whose end did not come is dropped", () => {
  const parser = new EventParser();
  assert.equal(parser.take("id: 1\ndata: one\n\nid: 2\ndata: half").length, 1);
  parser.begin();
  assert.equal(parser.last, "1");
  assert.deepEqual(parser.take("data: again\n\n"), [{ name: "message", data: "again", id: "1" }]);
});
