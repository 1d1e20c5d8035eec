import assert from "node:assert/strict";
import { test } from "node:test";
import { CommandFailed, Sandbox } from "tandem-client";
import { serve } from "./fake_server.mjs";

const WRITTEN = ["stdout", "stderr", "stdout"].map((stream, n) => `id: ${n}\nevent: output\ndata: {"stream": "${stream}", "data": "${n}"}\n\n`);
const ended = (code) => ({ events: `${WRITTEN.join("")}id: 9\nevent: exit\ndata: {"status": "completed", "exit_code": ${code}}\n\n` });

test("all that a command wrote is given", async () => {
  const server = await serve(ended(0), ended(3));
  const { shell } = new Sandbox({ url: server.url, key: "" });
  const result = await shell.run("x", { cwd: "/tmp", env: { A: "b" }, timeout: 2 });
  assert.deepEqual(result, { command: "x", status: "completed", exitCode: 0, stdout: "02", stderr: "1" });
  assert.deepEqual(JSON.parse(server.seen[0].body), { command: "x", exec_dir: "/tmp", env: { A: "b" }, hard_timeout: 2 });
  await assert.rejects(shell.run("x", { check: true }), (error) => error instanceof CommandFailed && error.exitCode === 3 && error.output === "1");
  server.close();
});
