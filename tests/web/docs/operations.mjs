// Operations of the committed OpenAPI document, and the page's template.

import { readFileSync } from "node:fs";

import { grouped, readOperations } from "/static/docs/openapi.js";

const text = readFileSync(new URL("../../../sandbox_server/openapi.json", import.meta.url), "utf8");
export const committed = JSON.parse(text);
export const operations = readOperations(committed);
export const groups = grouped(committed, operations);

/** @param {string} id @returns {any} */
export const find = (id) => operations.find((operation) => operation.id === id);

/** What stands in the template of docs/index.html. */
export const TEMPLATE = readFileSync(new URL("../../../sandbox_server/web/docs/index.html", import.meta.url), "utf8").match(/<template id="page">([^]*)<\/template>/)?.[1] ?? "";
