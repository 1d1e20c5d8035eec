// A question to the person.

import assert from "node:assert/strict";
import { beforeEach, test } from "node:test";

import { openDocument } from "../browser/dom.mjs";

const body = openDocument();
location.search = "?lang=en";
const { Question } = await import("/static/files/question.js");

/** @type {any} */
let dialog;
/** @type {any} */
let question;

beforeEach(() => {
  body.innerHTML = '<dialog><form><h2></h2><p></p><label><span></span><input></label><div class="line"></div></form></dialog>';
  dialog = body.firstElementChild;
  dialog.close = (/** @type {string} */ value) => {
    dialog.open = false;
    if (value !== undefined) dialog.returnValue = value;
    dialog.dispatchEvent(new Event("close"));
  };
  dialog.querySelector("input").setCustomValidity = (/** @type {string} */ wrong) => (dialog.wrong = wrong);
  question = new Question(dialog);
});

const buttons = () => dialog.querySelector(".line").children;

test("a question has its answers, and the focus is on the one that does nothing", async () => {
  const asked = question.ask({ title: "<b>Delete?</b>", text: "All of it.", answers: [["delete", "Delete"]] });
  assert.deepEqual([dialog.querySelector("h2").textContent, dialog.querySelector("p").textContent], ["<b>Delete?</b>", "All of it."]);
  assert.deepEqual(buttons().map(({ textContent }) => textContent), ["Delete", "Cancel"]);
  assert.equal(document.activeElement, buttons()[1]);
  assert.equal(dialog.querySelector("label").hidden, true);
  dialog.close("delete");
  assert.equal((await asked).answer, "delete");
});

test("to cancel, or to close it, answers nothing", async () => {
  const cancelled = question.ask({ title: "?", answers: [["ok", "OK"]] });
  buttons()[1].click();
  assert.equal(await cancelled, undefined);
  const closed = question.ask({ title: "?", answers: [["ok", "OK"]] });
  dialog.close();
  assert.equal(await closed, undefined);
});

test("a field says what is wrong with a value", async () => {
  const field = { label: "Name", value: "a.txt", check: (/** @type {string} */ name) => (name.includes("/") ? "no slash" : "") };
  const asked = question.ask({ title: "?", field, answers: [["ok", "OK"]] });
  assert.deepEqual([question.input.value, question.input.disabled, dialog.wrong], ["a.txt", false, ""]);
  question.input.value = "a/b";
  question.input.oninput();
  assert.equal(dialog.wrong, "no slash");
  question.input.value = "b";
  dialog.close("ok");
  assert.deepEqual(await asked, { answer: "ok", value: "b" });
});
