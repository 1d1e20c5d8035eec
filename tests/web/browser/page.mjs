// A page of sandbox_server/web, read into a document, so that its entry can run there.

import { readFileSync } from "node:fs";

import { openDocument } from "./dom.mjs";

/** @param {string} folder of the page @returns {import("./dom.mjs").El} the body, with what its index.html holds */
export function openPage(folder) {
  const html = readFileSync(new URL(`../../../sandbox_server/web/${folder}/index.html`, import.meta.url), "utf8");
  const body = openDocument();
  body.innerHTML = html.slice(html.indexOf("<body"), html.indexOf("</body>")).replace(/^<body[^>]*>/, "");
  Object.assign(document, { getElementById: (/** @type {string} */ id) => body.querySelector(`#${id}`) });
  return body;
}
