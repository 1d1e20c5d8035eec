// Approvals, for tests.

import { LOGIN } from "./handoffs.mjs";

const DETAILS = { host: "api.example.com", port: "443", program: "curl", session: "shell:2" };
/** @type {any} */
export const REACH = {
  ...LOGIN, id: "h7", kind: "approve", reason: "curl wants to reach api.example.com:443", instructions: "", url: null, on_timeout: "deny", created_at: 0, deadline_at: 30,
  approval: { subject: "network", rule: "ask me", details: DETAILS, answers: ["once", "task", "always", "deny"] },
};

/** Another approval. @param {string} subject @param {Record<string, string>} details @param {object} [changes] @returns {any} */
export const approval = (subject, details, changes = {}) => ({ ...REACH, approval: { ...REACH.approval, subject, details, rule: "" }, ...changes });
