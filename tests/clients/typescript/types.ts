// What compiles, and what must not: each line below `@ts-expect-error` is an error of its own.

import { type Answer, HeldByPerson, Sandbox } from "tandem-client";
import { TandemViewer } from "tandem-client/react";
import { TandemView } from "tandem-client/view";

export async function right(sandbox: Sandbox): Promise<void> {
  const ran = await sandbox.api.call("POST /v1/bash/exec", { body: { command: "true" } });
  const code: number | null = ran.exit_code;
  const listed: Answer<"GET /v1/checkpoints"> = await sandbox.api.call("GET /v1/checkpoints");
  const picture: Uint8Array = await sandbox.api.call("GET /v1/browser/screenshot", { query: { format: "png" } });
  await sandbox.api.call("DELETE /v1/handoffs/{id}", { path: { id: "h" } });
  const home: string = (await sandbox.api.whole("GET /v1/sandbox")).home_dir;
  const answer = await sandbox.ask("Which?", { kind: "choice", choices: ["a"] });
  const outcome: string | null = answer.outcome;
  for await (const event of sandbox.shell.stream("ls")) {
    if (event.type === "output") event.text.trim();
    else event.exitCode?.toFixed();
  }
  await using second = await Sandbox.start({ image: "tandem" });
  const element: TandemView | null = document.querySelector("tandem-view");
  element?.type("text");
  TandemViewer({ src: "/stream/socket", onState: ({ state }) => state.length });
  console.log(code, listed, picture, outcome, home, second.url);
}

export async function wrong(sandbox: Sandbox, error: unknown): Promise<void> {
  // @ts-expect-error -- there is no such operation
  await sandbox.api.call("POST /v1/bash/nothing", { body: {} });
  // @ts-expect-error -- a command is needed
  await sandbox.api.call("POST /v1/bash/exec", { body: {} });
  // @ts-expect-error -- the path has a value
  await sandbox.api.call("DELETE /v1/handoffs/{id}");
  // @ts-expect-error -- it is no kind
  await sandbox.ask("Which?", { kind: "guess" });
  // @ts-expect-error -- the exit code may be null
  const code: number = (await sandbox.shell.run("true")).exitCode;
  // @ts-expect-error -- an unknown error has no holder
  console.log(code, error.holder);
  if (error instanceof HeldByPerson) console.log(error.holder, error.epoch);
}
