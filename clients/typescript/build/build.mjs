// Makes what the sources need: the types of all operations from the API's description, and the files of <tandem-view>.

import { cpSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join, relative, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import openapiTS, { astToString } from "openapi-typescript";

const project = dirname(dirname(fileURLToPath(import.meta.url)));
const server = resolve(project, process.env.TANDEM_SERVER ?? "../../sandbox_server");
const VIEW = "stream/tandem-view.js";
/** Modules that are named by URL instead of imported. */
const BY_URL = ["stream/worker.js", "stream/playback_worklet.js", "stream/microphone_worklet.js"];

/** What the image has of npm packages below `web`, and where the packages have it. */
const VENDORED = { "vendor/novnc/": "@novnc/novnc", "vendor/fzstd.mjs": "fzstd/esm/index.mjs" };
const LICENCES = {
  "novnc/LICENSE.txt": "@novnc/novnc/LICENSE.txt",
  "novnc/LICENSE.MPL-2.0": "@novnc/novnc/docs/LICENSE.MPL-2.0",
  "fzstd.LICENSE": "fzstd/LICENSE",
};
const IMPORT = /(^(?:import|export)\s[^;"']*["'])([^"']+)(["'])/gm;

/**
 * The description with all fields of answers required: the server sends those that have a default, too.
 *
 * @param {any} description
 */
export function withWholeAnswers(description) {
  const schemas = description.components.schemas;
  const answers = new Set();
  for (const path of Object.values(description.paths)) {
    for (const operation of Object.values(path)) collect(operation.responses, description, answers);
  }
  const requests = new Set();
  for (const path of Object.values(description.paths)) {
    for (const operation of Object.values(path)) collect([operation.requestBody, operation.parameters], description, requests);
  }
  for (const name of answers) {
    const schema = schemas[name];
    if (schema?.properties && !requests.has(name)) schema.required = Object.keys(schema.properties);
  }
  return description;
}

/** Note the names of all schemas that a value of JSON refers to. */
function collect(value, description, found) {
  if (Array.isArray(value)) value.forEach((each) => collect(each, description, found));
  else if (value && typeof value === "object") {
    const name = value.$ref?.match(/^#\/components\/(\w+)\/(.+)$/);
    if (name?.[1] === "schemas" && !found.has(name[2])) {
      found.add(name[2]);
      collect(description.components.schemas[name[2]], description, found);
    } else if (name && name[1] !== "schemas") collect(description.components[name[1]][name[2]], description, found);
    Object.values(value).forEach((each) => collect(each, description, found));
  }
}

/** Where a module of the pages comes from, by its path below `web`. */
function source(name) {
  for (const [prefix, folder] of Object.entries(VENDORED)) {
    if (name.startsWith(prefix)) return join(project, "node_modules", folder, name.slice(prefix.length));
  }
  return join(server, "web", name);
}

/** Copy a module of the pages and all that it imports to the package, where a path below `/static/` becomes a relative one. */
function copy(name, done = new Set()) {
  if (done.has(name)) return;
  done.add(name);
  const text = readFileSync(source(name), "utf8").replace(IMPORT, (whole, before, from, after) => {
    if (!from.startsWith("/static/") && !from.startsWith(".")) return whole;
    const needed = from.startsWith("/static/") ? from.slice("/static/".length) : join(dirname(name), from);
    copy(needed, done);
    const path = relative(dirname(name), needed);
    return `${before}${path.startsWith(".") ? path : `./${path}`}${after}`;
  });
  const target = join(project, "dist/web", name);
  mkdirSync(dirname(target), { recursive: true });
  writeFileSync(target, text);
}

async function main() {
  const text = readFileSync(join(server, "openapi.json"), "utf8");
  const types = await openapiTS(withWholeAnswers(JSON.parse(text)), { defaultNonNullable: false });
  mkdirSync(join(project, "src"), { recursive: true });
  writeFileSync(join(project, "src/schema.ts"), astToString(types));

  rmSync(join(project, "dist"), { recursive: true, force: true });
  const done = new Set();
  for (const name of [VIEW, ...BY_URL]) copy(name, done);
  for (const [name, path] of Object.entries(LICENCES)) cpSync(join(project, "node_modules", path), join(project, "dist/web/vendor", name));
  cpSync(join(project, "src/web"), join(project, "dist/web"), { recursive: true });
  cpSync(join(server, "../deploy/seccomp/tandem.json"), join(project, "dist/seccomp.json"));
}

if (process.argv[1] === fileURLToPath(import.meta.url)) await main();
