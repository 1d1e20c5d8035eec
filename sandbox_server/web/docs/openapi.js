// Reads the OpenAPI document: its operations with their fields. No DOM, no network.

/**
 * @typedef {{name: string, place: "path" | "query" | "body", required: boolean, type: string, description: string,
 *            initial: any, choices: any[] | null, schema: any, inner: Field[]}} Field
 * @typedef {{id: string, tag: string, name: string, verb: string, path: string, summary: string, description: string, scope: string,
 *            decides: boolean, tool: string | null, aliases: string[], readOnly: boolean, destructive: boolean, streams: boolean,
 *            mediaTypes: string[],
 *            bodyType: string | null, fields: Field[], answer: Field[], answerType: string, enveloped: boolean, words: string}} Operation
 * @typedef {{name: string, description: string, operations: Operation[]}} Group
 */

/** The depth to which fields inside fields are read. */
const DEPTH = 4;
const ENVELOPE = ["success", "message", "data", "hint"];

/**
 * @param {any} document
 * @returns {Operation[]} by tag, in the document's order of tags, and of operations within one
 */
export function readOperations(document) {
  const found = Object.entries(document.paths).flatMap(([path, verbs]) =>
    Object.entries(verbs).map(([verb, entry]) => read(document, path, verb.toUpperCase(), entry)),
  );
  const order = new Map(document.tags.map((/** @type {any} */ tag, /** @type {number} */ at) => [tag.name, at]));
  return found.sort((one, other) => order.get(one.tag) - order.get(other.tag));
}

/**
 * @param {any} document
 * @param {Operation[]} operations of it
 * @returns {Group[]} the tags that have some of them, each with its sentence
 */
export function grouped(document, operations) {
  const byTag = Map.groupBy(operations, (operation) => operation.tag);
  return document.tags
    .filter((/** @type {any} */ tag) => byTag.has(tag.name))
    .map((/** @type {any} */ tag) => ({ name: tag.name, description: tag.description ?? "", operations: byTag.get(tag.name) }));
}

/**
 * @param {any} document
 * @param {string} path
 * @param {string} verb
 * @param {any} entry
 * @returns {Operation}
 */
function read(document, path, verb, entry) {
  const tag = entry.tags[0];
  const mediaTypes = Object.keys(entry.responses["200"].content ?? {});
  const [bodyType, body] = Object.entries(entry.requestBody?.content ?? {})[0] ?? [null, null];
  const answer = resolve(document, entry.responses["200"].content?.["application/json"]?.schema ?? {});
  const enveloped = isEnvelope(answer);
  const data = enveloped ? answer.properties.data : answer;
  const about = document.tags.find((/** @type {any} */ one) => one.name === tag);
  return {
    id: `${tag}/${entry["x-name"]}`,
    tag,
    name: entry["x-name"],
    verb,
    path,
    summary: entry.summary,
    description: entry.description ?? "",
    scope: entry["x-scope"],
    decides: entry["x-decides"] ?? false,
    tool: entry["x-tool"] ?? null,
    aliases: entry["x-aliases"] ?? [],
    readOnly: entry["x-read-only"] ?? false,
    destructive: entry["x-destructive"] ?? false,
    streams: mediaTypes.includes("text/event-stream"),
    mediaTypes,
    bodyType,
    fields: [
      ...(entry.parameters ?? []).map((/** @type {any} */ found) =>
        field(document, found.name, { ...found.schema, description: found.description }, found.in, found.required, DEPTH),
      ),
      ...inside(document, /** @type {any} */ (body)?.schema ?? {}, "body", DEPTH),
    ],
    answer: inside(document, data, "body", DEPTH),
    answerType: typeName(document, data),
    enveloped,
    words: [about.description, ...(about["x-words"] ?? [])].join(" "),
  };
}

/** @param {any} schema */
function isEnvelope(schema) {
  const names = Object.keys(schema.properties ?? {});
  return names.length === ENVELOPE.length && ENVELOPE.every((name) => names.includes(name));
}

/**
 * Follow a reference, and drop null from alternatives.
 * @param {any} document
 * @param {any} schema
 * @returns {any}
 */
function resolve(document, schema) {
  if (schema.$ref) {
    const { $ref, ...rest } = schema;
    return { ...resolve(document, document.components.schemas[$ref.split("/").pop()]), ...rest };
  }
  const real = (schema.anyOf ?? []).filter((/** @type {any} */ one) => one.type !== "null" && !isFileError(one));
  if (real.length === 1) {
    const { anyOf: _, ...rest } = schema;
    return { ...resolve(document, real[0]), ...rest };
  }
  return schema;
}

/** @param {any} schema of a failure, which stands beside the result where failures are 200 responses */
const isFileError = (schema) => schema.$ref?.endsWith("/FileOperationError") ?? false;

/**
 * @param {any} document
 * @param {any} schema
 * @param {Field["place"]} place
 * @param {number} depth
 * @returns {Field[]}
 */
function inside(document, schema, place, depth) {
  const found = resolve(document, schema);
  const owner = found.type === "array" && found.items ? resolve(document, found.items) : found;
  if (depth === 0 || !owner.properties) {
    return [];
  }
  return Object.entries(owner.properties).map(([name, inner]) =>
    field(document, name, inner, place, (owner.required ?? []).includes(name), depth - 1),
  );
}

/**
 * @param {any} document
 * @param {string} name
 * @param {any} schema
 * @param {Field["place"]} place
 * @param {boolean} required
 * @param {number} depth
 * @returns {Field}
 */
function field(document, name, schema, place, required, depth) {
  const found = resolve(document, schema);
  return {
    name,
    place,
    required,
    type: typeName(document, schema),
    description: found.description ?? "",
    initial: found.default ?? null,
    choices: found.enum ?? null,
    schema: found,
    inner: inside(document, schema, place, depth),
  };
}

/**
 * @param {any} document
 * @param {any} schema
 * @returns {string} for display: `integer`, `list of string`, `file`
 */
export function typeName(document, schema) {
  const found = resolve(document, schema);
  if (found.anyOf) {
    const names = found.anyOf.filter((/** @type {any} */ one) => one.type !== "null").map((/** @type {any} */ one) => typeName(document, one));
    return [...new Set(names)].join(" or ");
  }
  if (found.type === "array") {
    return `list of ${typeName(document, found.items ?? {})}`;
  }
  if (found.format === "binary") {
    return "file";
  }
  return found.type ?? (found.enum ? typeof found.enum[0] : "anything");
}

/**
 * @param {Operation[]} operations
 * @param {string} words that all have to occur
 * @returns {Operation[]}
 */
export function matching(operations, words) {
  const wanted = words.toLowerCase().split(/\s+/).filter(Boolean);
  return operations.filter((operation) => {
    const text = [operation.id, operation.verb, operation.path, operation.summary, operation.tool, operation.words, ...operation.aliases].join(" ").toLowerCase();
    return wanted.every((word) => text.includes(word));
  });
}
