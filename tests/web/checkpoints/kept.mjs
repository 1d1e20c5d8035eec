// Checkpoints as the API lists them.

/** @param {string} id @param {object} [more] @returns {any} */
export const checkpoint = (id, more = {}) => ({ id, parent: null, label: `label ${id}`, who: "key", why: "asked", created: 1000, files: 2, bytes: 2048, ...more });

export const FIRST = checkpoint("aaaaaaaa", { label: "before the upgrade", who: "ann#1234", created: 1000 });
export const RISK = checkpoint("bbbbbbbb", { why: "before_risk", label: "before file.delete_file", created: 2000 });
export const RESTORE = checkpoint("cccccccc", { why: "before_restore", label: "before restoring aaaaaaaa", created: 3000, files: null, bytes: null });

/** @param {string} name @param {object} [more] of a tree's entry @returns {any} */
export const entry = (name, more = {}) => ({ name, change: null, added: 0, changed: 0, deleted: 0, before: 0, after: 0, ...more });
