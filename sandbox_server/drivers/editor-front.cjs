"use strict";
// What Node.js loads before code-server (`--require`): code-server looks at no name, so that a page in the sandbox's browser could reach it under
// one that it made up (DNS rebinding), and it ends no sooner than two minutes after its last use.
//
// EDITOR_FRONT is a port and seconds. The server that listens on that port takes requests for localhost alone, and ends with its process when
// it has been idle for that long. Other servers, as those of extensions, are left alone.
//
// EDITOR_SETTINGS is the JSON of settings that a user who has none begins with.

const { mkdirSync, writeFileSync } = require("node:fs");
const { Server } = require("node:http");
const { homedir } = require("node:os");
const { join } = require("node:path");

const OWN_NAMES = /^(localhost|127\.0\.0\.1|\[::1\])(:\d+)?$/;
const REFUSAL = "this is not the address of the editor\n";
const [port, idleSeconds] = (process.env.EDITOR_FRONT ?? "0 0").split(" ").map(Number);
const emit = Server.prototype.emit;
const FOLDER = join(process.env.XDG_DATA_HOME || join(homedir(), ".local", "share"), "code-server", "User");
let uses = 0;
let idle;

/** Give a user who has no settings these; what cannot be written is not needed. */
function seed() {
  try {
    mkdirSync(FOLDER, { recursive: true });
    writeFileSync(join(FOLDER, "settings.json"), process.env.EDITOR_SETTINGS ?? "{}", { flag: "wx" });
  } catch {
    // They are there, or the disk is full.
  }
}

if (process.env.EDITOR_SETTINGS) seed();
delete process.env.EDITOR_SETTINGS; // not for what is started in the editor

/** @param {boolean} used Whether somebody begins to use it, or is done. */
function note(used) {
  clearTimeout(idle);
  uses += used ? 1 : -1;
  if (uses === 0) idle = setTimeout(() => process.kill(process.pid, "SIGTERM"), idleSeconds * 1000).unref();
}

/** @param {import("node:http").ServerResponse | import("node:net").Socket} answer What a request is answered on, or a socket after it. */
function refuse(answer) {
  if ("writeHead" in answer) answer.writeHead(403, { "Content-Type": "text/plain" }).end(REFUSAL);
  else answer.end(`HTTP/1.1 403 Forbidden\r\nConnection: close\r\n\r\n${REFUSAL}`);
}

Server.prototype.emit = function (event, request, answer, ...rest) {
  if (this.address()?.port !== port) return emit.call(this, event, request, answer, ...rest);
  if (event === "listening") {
    note(true);
    note(false);
  } else if (event === "request" || event === "upgrade") {
    if (!OWN_NAMES.test(request.headers.host ?? "")) {
      refuse(answer);
      return true;
    }
    note(true);
    answer.once("close", () => note(false));
  }
  return emit.call(this, event, request, answer, ...rest);
};
