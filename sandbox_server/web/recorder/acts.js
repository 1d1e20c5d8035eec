// What each operation does, as the key of a sentence and the values that fill it.

import { entryOf, fields, listed, number, shortText, shortUrl } from "./fields.js";

/** @typedef {import("./event_log.js").Entry} Entry */
/** @typedef {import("./strings.js").StringKey} StringKey */
/** @typedef {{key: StringKey, values?: Record<string, string | number>}} Act */
/** @typedef {Record<string, unknown>} Request */

/** What is left of a request with `_length` in its name: the number of characters. @param {Request} request */
const lengthOf = (request) => ["text", "input", "value", "key", "keys"].map((name) => number(request[`${name}_length`])).find((count) => count !== null) ?? 0;

/** @param {Request} request */
const pathOf = (request) => shortText(request.file ?? request.path ?? request.destination ?? request.save_path);

/** @param {Request} request @returns {string} */
function target(request) {
  const x = number(request.x);
  const y = number(request.y);
  return shortText(request.selector ?? request.ref) || (x !== null && y !== null ? `${Math.round(x)}, ${Math.round(y)}` : shortText(request.index));
}

/** @param {Request} request @returns {Act} */
const click = (request) => (target(request) ? { key: "clicked", values: { what: target(request) } } : { key: "clickedBare" });
/** @param {Request} request @returns {Act} */
const typing = (request) => (lengthOf(request) === 1 ? { key: "typedOne" } : { key: "typed", values: { count: lengthOf(request) } });
/** @param {Request} request @returns {Act} */
const ran = (request) => ({ key: "ran", values: { command: shortText(request.command ?? request.cmd) } });
/** A language by its own name. @param {unknown} name */
const languageOf = (name) => entryOf({ python: "Python", javascript: "JavaScript", typescript: "TypeScript" }, name) ?? shortText(name);
/** @param {string} [fallback] @returns {(request: Request) => Act} */
const ranCode = (fallback) => (request) => ({ key: "ranCode", values: { language: languageOf(request.language) || (fallback ?? ""), command: shortText(request.code) } });
/** @param {StringKey} key @returns {(request: Request) => Act} */
const withPath = (key) => (request) => ({ key, values: { path: pathOf(request), destination: shortText(request.destination) } });
/** @param {StringKey} key @returns {() => Act} */
const plain = (key) => () => ({ key });
/** @param {Request} request @returns {Act} */
const option = (request) => ({ key: "choseOption", values: { what: target(request) } });

/** The editor's commands, of which one reads. @param {Request} request @returns {Act} */
const edited = (request) => withPath(request.command === "view" ? "readFile" : request.command === "create" ? "wroteFile" : "changedFile")(request);

/** @type {Record<string, (request: Request) => Act>} by the action's type, in capitals */
const ACTIONS = {
  CLICK: click,
  DOUBLE_CLICK: click,
  RIGHT_CLICK: click,
  MOUSE_DOWN: click,
  MOUSE_UP: click,
  TYPING: typing,
  TYPE: typing,
  PRESS: plain("pressed"),
  KEY_DOWN: plain("pressed"),
  KEY_UP: plain("pressed"),
  HOTKEY: plain("pressed"),
  SCROLL: plain("scrolled"),
  MOVE_TO: plain("movedMouse"),
  MOVE_REL: plain("movedMouse"),
  DRAG_TO: plain("dragged"),
  DRAG_REL: plain("dragged"),
  WAIT: plain("waited"),
};

/** An action on the screen. @param {Request} request @returns {Act} */
export function actionOf(request) {
  const action = request.action_type === undefined && request.action !== undefined ? fields(request.action) : request;
  const type = shortText(action.action_type ?? action.type ?? action.kind).toUpperCase();
  return entryOf(ACTIONS, type)?.(action) ?? { key: "actedOnScreen", values: { operation: type.toLowerCase() } };
}

/** @param {Request} request @returns {Act} */
const invited = (request) => ({
  key: request.actor === "agent" ? "madeTicket" : listed(request.scopes).includes("view") && !listed(request.scopes).includes("control") ? "invited" : "invitedControl",
});

/** @type {Record<string, (request: Request) => Act>} by the operation's name */
const OPERATIONS = {
  "shell.exec_command": ran,
  "shell.execute_bash": ran,
  "bash.exec": ran,
  "code.execute_code": ranCode(),
  "jupyter.execute_code": ranCode("Python"),
  "nodejs.execute_code": ranCode("JavaScript"),
  "shell.write_to_process": (request) => ({ key: "typedShell", values: { count: lengthOf(request) } }),
  "bash.write": (request) => ({ key: "typedShell", values: { count: lengthOf(request) } }),
  "shell.kill_process": plain("stoppedCommand"),
  "bash.kill": plain("stoppedCommand"),
  "jupyter.interrupt_session": plain("stoppedCommand"),
  "shell.create_session": plain("openedSession"),
  "bash.create_session": plain("openedSession"),
  "jupyter.create_session": plain("openedSession"),
  "nodejs.create_session": plain("openedSession"),
  "shell.cleanup_session": plain("closedSession"),
  "shell.cleanup_all_sessions": plain("closedSession"),
  "bash.close_session": plain("closedSession"),
  "jupyter.delete_session": plain("closedSession"),
  "nodejs.delete_session": plain("closedSession"),
  "file.write_file": withPath("wroteFile"),
  "file.replace_in_file": withPath("changedFile"),
  "file.str_replace_editor": edited,
  "file.delete_file": withPath("deletedFile"),
  "file.move_file": withPath("movedFile"),
  "file.copy_file": withPath("copiedFile"),
  "file.make_directory": withPath("madeFolder"),
  "file.upload_file": withPath("uploadedFile"),
  "file.extract_archive": withPath("unpacked"),
  "file.archive_files": withPath("packed"),
  "file.change_mode": withPath("modeChanged"),
  "file.read_file": withPath("readFile"),
  "file.download_file": withPath("readFile"),
  "browser-page.navigate": (request) => ({ key: "openedUrl", values: { url: shortUrl(request.url) } }),
  "browser-page.click": click,
  "browser-page.type_text": typing,
  "browser-page.fill": typing,
  "browser-page.fill_form": plain("filledForm"),
  "browser-page.press_key": plain("pressed"),
  "browser-page.hot_key": plain("pressed"),
  "browser-page.scroll": plain("scrolled"),
  "browser-page.scroll_to": plain("scrolled"),
  "browser-page.scroll_to_element": plain("scrolled"),
  "browser-page.hover": plain("movedMouse"),
  "browser-page.check": click,
  "browser-page.uncheck": click,
  "browser-page.select_option": option,
  "browser-page.upload_file": plain("uploadedToPage"),
  "browser-page.evaluate": plain("ranScript"),
  "browser-page.back": plain("wentBack"),
  "browser-page.forward": plain("wentForward"),
  "browser-page.reload": plain("reloaded"),
  "browser-tabs.create": plain("openedTab"),
  "browser-tabs.close": plain("closedTab"),
  "browser-tabs.activate": plain("switchedTab"),
  "browser-tools.tool_navigate": (request) => ({ key: "openedUrl", values: { url: shortUrl(request.url) } }),
  "browser-tools.tool_click": click,
  "browser-tools.tool_fill": typing,
  "browser-tools.tool_scroll": plain("scrolled"),
  "browser-tools.tool_select": option,
  "browser-tools.tool_evaluate": plain("ranScript"),
  "browser-tools.tool_close_tab": plain("closedTab"),
  "browser.execute_action": actionOf,
  "browser.act": actionOf,
  "browser.screenshot": plain("lookedScreen"),
  "browser.look": plain("lookedScreen"),
  "browser-page.screenshot": plain("lookedScreen"),
  "screen.click_element": click,
  "checkpoints.prune_checkpoints": plain("prunedCheckpoints"),
  "checkpoints.import_checkpoint": plain("importedCheckpoint"),
  "checkpoints.remove_checkpoint": (request) => ({ key: "removedCheckpoint", values: { name: shortText(request.checkpoint_id) } }),
  "checkpoints.squash_checkpoint": (request) => ({ key: "squashedCheckpoint", values: { name: shortText(request.checkpoint_id) } }),
  "suspension.suspend": plain("suspended"),
  "suspension.resume": plain("resumedComputer"),
  "box.restart_box": plain("restartedBox"),
  "auth.create_ticket": invited,
  "auth.create_key": plain("madeKey"),
  "auth.revoke_key": plain("revokedKey"),
  "auth.create_invitation": (request) => ({ key: request.access === "control" ? "invitedControl" : "invited" }),
  "auth.revoke_invitation": plain("revokedInvite"),
  "auth.end_session": (request) => ({ key: "signedOther", values: { name: shortText(request.name) } }),
  "auth.sign_out": plain("signedOut"),
  "ports.share_port": (request) => ({ key: "sharedPort", values: { port: shortText(request.port) } }),
  "ports.revoke_share": plain("revokedShare"),
  "mcp.execute_mcp_tool": (request) => ({ key: "usedTool", values: { tool: shortText(request.tool_name), server: shortText(request.server_name) } }),
};

/** @type {Record<string, StringKey>} the sentence of an operation that is not named above, by the entry's kind */
const OTHERS = { file: "usedFiles", input: "actedOnScreen", checkpoint: "otherState", access: "otherAccess", read: "looked" };

/** Values without which a sentence says nothing: a call that was refused, or made in private, has none of them. */
const NEEDED = ["command", "path", "url"];

/** What a call did; of one that was refused, what was tried. @param {Entry} entry @returns {Act} */
export function actOf(entry) {
  const name = shortText(entry.operation);
  const act = entry.request === undefined && entry.outcome !== "ok" ? null : entryOf(OPERATIONS, name)?.(fields(entry.request));
  if (act && !NEEDED.some((value) => act.values?.[value] === "")) return act;
  return { key: entry.outcome === "ok" ? (entryOf(OTHERS, entry.kind) ?? "called") : "tried", values: { operation: name } };
}

/** Whether an act is one of mouse and keyboard, which a burst sums up. @param {Entry} entry */
export const isByHand = (entry) => entry.counts !== undefined || Object.hasOwn(COUNTED, actOf(entry).key);

/** What a burst is counted by, for an act of the agent's. @type {Record<string, string>} */
const COUNTED = {
  clicked: "clicks", clickedBare: "clicks", typed: "characters", typedOne: "characters",
  pressed: "keys", scrolled: "scrolls", movedMouse: "moves", dragged: "moves",
};

/** How much of what was put in, by an entry of the kind `input`. @param {Entry} entry @returns {[string, number][]} */
export function countsOf(entry) {
  if (entry.counts !== undefined) {
    return Object.entries(fields(entry.counts)).flatMap(([what, count]) => (number(count) === null ? [] : [[what, /** @type {number} */ (count)]]));
  }
  const { key, values } = actOf(entry);
  const what = entryOf(COUNTED, key) ?? "others";
  return [[what, what === "characters" ? (number(values?.count) ?? 1) : 1]];
}
