// Paths of files, and the page's address.

import assert from "node:assert/strict";
import { test } from "node:test";

import { absolute, encoded, hrefOf, isName, join, numbered, parentOf, placeOf, steps } from "/static/files/paths.js";

test("an address names a folder and a file, whatever they are called", () => {
  for (const [folder, open] of [["/home/gem", ""], ["/a b/100%&#=+?", "x&open=y.txt"], ["/文件", "é.txt"], ["/", "f"]]) {
    assert.deepEqual(placeOf(hrefOf(folder, open)), { folder, open });
  }
  assert.equal(hrefOf("/home/gem", "a.txt"), "#path=/home/gem&open=a.txt");
  assert.deepEqual(placeOf(""), { folder: "", open: "" });
});

test("what an address names is an absolute path without detours", () => {
  assert.deepEqual(["/a/../../b//./c/", "relative", "javascript:alert(1)", "/"].map(absolute), ["/b/c", "", "", "/"]);
});

test("half a character stops no address", () => {
  assert.equal(encoded("a\udcff"), "a%EF%BF%BD");
});

test("folders on the way lead from the top", () => {
  assert.deepEqual(steps("/a/b"), [{ name: "/", path: "/" }, { name: "a", path: "/a" }, { name: "b", path: "/a/b" }]);
  assert.deepEqual([join("/", "a"), join("/a", "b"), parentOf("/a/b"), parentOf("/a")], ["/a", "/a/b", "/a", "/"]);
});

test("a name has no slash and leads nowhere else", () => {
  assert.deepEqual(["a", ".a", "", ".", "..", "a/b", "a\0b"].map(isName), [true, true, false, false, false, false, false]);
});

test("a second file of a name has a number before its ending", () => {
  assert.deepEqual([numbered("a.tar.gz", 1), numbered(".profile", 2), numbered("a", 3)], ["a.tar (1).gz", ".profile (2)", "a (3)"]);
});
