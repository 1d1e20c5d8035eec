// Resolves the pages' modules as nginx serves them: /static/ is sandbox_server/web. Given to Node with --import.

import { registerHooks } from "node:module";

const WEB = new URL("../../../sandbox_server/web/", import.meta.url).href;
const STATIC = "/static/";
/** @type {Map<string, string>} */
const replaced = new Map();

/**
 * Have a module stand in for one that needs a whole browser, as noVNC does. Call it before the import.
 * @param {string} specifier
 * @param {string | URL} url
 */
export function replace(specifier, url) {
  replaced.set(specifier, String(url));
}

registerHooks({
  resolve(specifier, context, next) {
    const other = replaced.get(specifier);
    if (other) return next(other, context);
    return next(specifier.startsWith(STATIC) ? WEB + specifier.slice(STATIC.length) : specifier, context);
  },
  load(url, context, next) {
    return next(url, url.startsWith(WEB) ? { ...context, format: "module" } : context);
  },
});
