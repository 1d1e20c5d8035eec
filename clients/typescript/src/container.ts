// Sandboxes in containers of this machine, by the engine's command. Browsers do not load this module.

import { execFile } from "node:child_process";
import { randomBytes } from "node:crypto";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { TandemError } from "./errors.js";

/** An engine may have to fetch the image first. */
const RUN_SECONDS = 600;
const PROFILE = fileURLToPath(new URL("./seccomp.json", import.meta.url));

/** A container that was started here. */
export interface StartedContainer {
  readonly url: string;
  readonly key: string;
  readonly container: string;
}

/** Start a container with the image's own seccomp profile, so that all that it can do it may do. docs/start.md says what each flag adds. */
export async function startContainer(image: string, name: string | undefined, env: Readonly<Record<string, string>>): Promise<StartedContainer> {
  const key = randomBytes(32).toString("base64url");
  const settings = { ...env, SANDBOX_API_KEY: key };
  if (Object.values(settings).some((value) => value.includes("\n"))) throw new TandemError("a setting must be one line");
  const named = name ?? `tandem-${randomBytes(6).toString("hex")}`;
  const folder = await mkdtemp(join(tmpdir(), "tandem-"));
  const options = ["--publish", "127.0.0.1::8080", "--volume", "/sandbox", "--cap-drop", "NET_RAW"];
  options.push("--security-opt", `seccomp=${PROFILE}`, "--security-opt", "systempaths=unconfined");
  options.push("--pids-limit", "4096", "--shm-size", "1g", "--stop-timeout", "45", "--env-file", join(folder, "settings"));
  let container: string | undefined;
  try {
    const lines = Object.entries(settings).map(([word, value]) => `${word}=${value}\n`);
    await writeFile(join(folder, "settings"), lines.join(""), { mode: 0o600 });
    container = (await engine("create", ...options, "--name", named, image)).trim();
    await engine("start", container);
    const [address] = (await engine("port", container, "8080/tcp")).split(/\s/);
    return { url: `http://${address}`, key, container };
  } catch (error) {
    if (container || !name) await removeContainer(container ?? named); // a name that was given may be another container's
    throw error;
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

/** Remove a container with its files. */
export async function removeContainer(container: string): Promise<void> {
  await engine("rm", "--force", "--volumes", container).catch(() => undefined);
}

function engine(...command: readonly string[]): Promise<string> {
  const program = process.env.TANDEM_ENGINE ?? "docker";
  return new Promise((resolve, reject) => {
    execFile(program, command, { timeout: RUN_SECONDS * 1000, maxBuffer: 1 << 20 }, (error, stdout, stderr) => {
      if (!error) resolve(stdout);
      else if ("code" in error && error.code === "ENOENT") {
        reject(new TandemError(`there is no \`${program}\` on this machine; TANDEM_ENGINE names another command`));
      } else reject(new TandemError(`${program} ${command[0]} failed: ${stderr.trim().slice(-1000) || error.message}`));
    });
  });
}
