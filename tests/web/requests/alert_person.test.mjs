// The alert for a person who looks elsewhere.

import assert from "node:assert/strict";
import { test } from "node:test";

import { globals, openDocument } from "../browser/dom.mjs";
import { CONFIRM } from "./handoffs.mjs";

openDocument();
/** @type {any[]} */
const notified = [];
class Notified {
  static permission = "granted";
  constructor(title, options) {
    notified.push([title, options]);
  }
}
globals({ Notification: Notified });
const { alertPerson } = await import("/static/requests/alert_person.js");

test("a notification says what is asked in plain words, once for all pages that are open", () => {
  Object.assign(document, { hidden: true });
  alertPerson({ ...CONFIRM, reason: `Pay \u202e12?${"!".repeat(5000)}` });
  const [[title, { body, tag }]] = notified;
  assert.deepEqual([title, tag, body.length, body.startsWith("Pay  12?")], ["The agent asks you to confirm", "h2", 301, true]);
});

test("whoever looks here sees the card and gets no notification; neither does who allowed none", () => {
  notified.length = 0;
  Object.assign(document, { hidden: false });
  alertPerson(CONFIRM);
  Object.assign(document, { hidden: true });
  Notified.permission = "default";
  alertPerson(CONFIRM);
  assert.deepEqual(notified, []);
});
