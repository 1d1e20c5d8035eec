export { Checkpoint } from "./checkpoint.js";
export { Control } from "./control.js";
export * from "./errors.js";
export type { SandboxEvent } from "./events.js";
export { Files } from "./files.js";
export { type Answer, type Arguments, Operations, type Route, type Schemas, type Whole } from "./operations.js";
export { Page, type Target } from "./page.js";
export { type AskOptions, Sandbox, type SandboxOptions, type StartOptions } from "./sandbox.js";
export { type CommandEvent, type CommandOptions, type CommandResult, Shell } from "./shell.js";
