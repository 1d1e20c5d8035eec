// Why an operation failed, in words for a person.

import { ApiError } from "/static/api.js";
import { visible } from "/static/checkpoints/format.js";
import { translate } from "./strings.js";

/** @typedef {import("./strings.js").Key} Key */

const MAX_MESSAGE = 300;
/** By the API's `error_type`. @type {Record<string, Key>} */
const KINDS = {
  not_found: "gone",
  permission_denied: "denied",
  already_exists: "taken",
  no_space_left: "full",
  read_only_filesystem: "readOnly",
  invalid_path: "badName",
  invalid_target: "notFolder",
};
/** By the status of an answer. @type {Record<number, Key>} */
const STATUSES = { 401: "signedOut", 403: "noScope", 404: "gone", 409: "taken", 413: "tooLarge", 423: "held" };

/** @param {unknown} error */
export function reason(error) {
  if (!(error instanceof ApiError)) return translate("noAnswer");
  const kind = "kind" in error ? String(error.kind) : "";
  const key = KINDS[kind] ?? STATUSES[error.status];
  return key ? translate(key) : visible(error.message, MAX_MESSAGE);
}
