// Code samples: one operation as curl, the command line, the Python SDK and MCP call it. No DOM, no network.

/** @typedef {import("/static/docs/openapi.js").Operation} Operation */

const CONTINUED = " \\\n  ";

/** The SDK's group of a tag, where it has another name. */
const SDK_GROUP = /** @type {Record<string, string>} */ ({ "file-watch": "file" });

/**
 * @param {Operation} operation
 * @param {string} base scheme and authority of the gateway
 * @param {boolean} inSdk whether the published SDK has it
 * @returns {Record<string, string>} text by the name of its tab
 */
export function codeSamples(operation, base, inSdk) {
  const values = sampleValues(operation);
  return {
    curl: curl(operation, base, values),
    "Command line": commandLine(operation, values),
    Python: inSdk ? python(operation, values) : plainPython(operation, base, values),
    ...(operation.tool && { MCP: mcp(operation, values) }),
  };
}

/**
 * @param {Operation} operation
 * @returns {Record<string, any>} a sample value for each required field
 */
export function sampleValues(operation) {
  return Object.fromEntries(operation.fields.filter((field) => field.required).map((field) => [field.name, sample(field)]));
}

/** @param {import("/static/docs/openapi.js").Field} field */
function sample(field) {
  const known = /** @type {Record<string, any>} */ ({
    command: "ls -la", cmd: "ls -la", file: "/tmp/notes.txt", path: "/tmp", content: "hello", reason: "Shall I go on?", url: "about:blank", code: "print(6 * 7)",
  });
  if (field.choices) {
    return field.choices[0];
  }
  if (field.type === "string" || field.type === "file") {
    return known[field.name] ?? field.name.toUpperCase();
  }
  const values = /** @type {Record<string, any>} */ ({ integer: 1, number: 1, boolean: true, object: {} });
  return field.type.startsWith("list") ? [] : (values[field.type] ?? "");
}

/**
 * @param {Operation} operation
 * @param {Record<string, any>} values
 * @returns {string} path and query
 */
export function target(operation, values) {
  const at = (/** @type {string} */ place) => operation.fields.filter((field) => field.place === place && field.name in values);
  const path = at("path").reduce((done, { name }) => done.replace(`{${name}}`, encodeURIComponent(values[name])), operation.path);
  const query = new URLSearchParams(at("query").flatMap(({ name }) => [values[name]].flat().map((value) => [name, String(value)])));
  return query.size ? `${path}?${query}` : path;
}

/**
 * @param {Operation} operation
 * @param {Record<string, any>} values
 */
export function bodyValues(operation, values) {
  const names = operation.fields.filter((field) => field.place === "body").map((field) => field.name);
  return Object.fromEntries(Object.entries(values).filter(([name]) => names.includes(name)));
}

/** @param {string} text */
const quoted = (text) => (/^[\w./:=@-]+$/.test(text) ? text : `'${text.replaceAll("'", "'\\''")}'`);

/**
 * @param {Operation} operation
 * @param {string} base
 * @param {Record<string, any>} values
 */
function curl(operation, base, values) {
  const lines = [`curl ${quoted(base + target(operation, values))}`, '-H "Authorization: Bearer $SANDBOX_API_KEY"'];
  if (operation.verb !== "GET" && !(operation.verb === "POST" && operation.bodyType)) {
    lines.splice(1, 0, `-X ${operation.verb}`);
  }
  if (operation.bodyType === "multipart/form-data") {
    const form = Object.entries(bodyValues(operation, values));
    lines.push(...form.map(([name, value]) => `-F ${quoted(`${name}=${name === "file" ? "@" : ""}${value}`)}`));
  } else if (operation.bodyType === "application/json") {
    lines.push('-H "Content-Type: application/json"', `-d ${quoted(JSON.stringify(bodyValues(operation, values)))}`);
  } else if (operation.bodyType) {
    lines.push("-T FILE");
  }
  return lines.join(CONTINUED);
}

/**
 * @param {Operation} operation
 * @param {Record<string, any>} values
 */
function commandLine(operation, values) {
  const words = Object.entries(values).map(([name, value]) => {
    const option = `--${name.replaceAll("_", "-")}`;
    return value === true ? option : `${option} ${quoted(typeof value === "string" ? value : JSON.stringify(value))}`;
  });
  return [`sandbox ${operation.tag} ${operation.name.replaceAll("_", "-")}`, ...words].join(" ");
}

/**
 * @param {Operation} operation
 * @param {Record<string, any>} values
 */
function python(operation, values) {
  const given = Object.entries(values).map(([name, value]) => `${name}=${literal(value)}`);
  const group = SDK_GROUP[operation.tag] ?? operation.tag.replaceAll("-", "_");
  return `client.${group}.${operation.name}(${given.join(", ")})`;
}

/**
 * What the published SDK lacks, with httpx.
 * @param {Operation} operation
 * @param {string} base
 * @param {Record<string, any>} values
 */
function plainPython(operation, base, values) {
  const { verb, bodyType, enveloped, streams, mediaTypes } = operation;
  const given = [`"${verb}"`, JSON.stringify(base + target(operation, values)), "headers=headers"];
  if (bodyType === "application/json") {
    given.push(`json=${literal(bodyValues(operation, values))}`);
  } else if (bodyType) {
    given.push('content=open("FILE", "rb")');
  }
  const lines = ["import os", "import httpx", "", 'headers = {"Authorization": f"Bearer {os.environ[\'SANDBOX_API_KEY\']}"}'];
  if (streams && mediaTypes.length === 1) {
    return [...lines, `with httpx.stream(${given.join(", ")}, timeout=None) as answer:`, "    for line in answer.iter_lines():", "        print(line)"].join("\n");
  }
  const json = mediaTypes.includes("application/json");
  return [...lines, `answer = httpx.request(${given.join(", ")}, timeout=3600)`, "answer.raise_for_status()", `print(${json ? `answer.json()${enveloped ? '["data"]' : ""}` : "len(answer.content)"})`].join("\n");
}

/** @param {any} value @returns {string} */
function literal(value) {
  const words = new Map([[true, "True"], [false, "False"], [null, "None"]]);
  if (value !== null && typeof value === "object") {
    const parts = Array.isArray(value) ? value.map(literal) : Object.entries(value).map(([name, inner]) => `${JSON.stringify(name)}: ${literal(inner)}`);
    return Array.isArray(value) ? `[${parts.join(", ")}]` : `{${parts.join(", ")}}`;
  }
  return words.get(value) ?? JSON.stringify(value);
}

/**
 * @param {Operation} operation
 * @param {Record<string, any>} values
 */
function mcp(operation, values) {
  const params = { name: operation.tool, arguments: values };
  return JSON.stringify({ jsonrpc: "2.0", id: 1, method: "tools/call", params }, null, 2);
}
