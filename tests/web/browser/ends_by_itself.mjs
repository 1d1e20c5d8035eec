// Fails a file of tests that does not end by itself after its last test: given to Node with --import.

import { after } from "node:test";

/** How long a file may go on. */
const SECONDS = 5;
const repeat = setInterval; // a test may put its own in its place
let isDone = false;

process.on("beforeExit", () => (isDone = true)); // nothing is awaited any more
process.on("exit", (code) => {
  if (isDone || code) return;
  console.error("the file called process.exit");
  process.exitCode = 1;
});

after(() => {
  let passed = 0;
  const seconds = repeat(() => {
    if (++passed < SECONDS) return; // one by one: on a busy machine what is due at last comes first
    console.error(`still open ${SECONDS} seconds after the last test: ${process.getActiveResourcesInfo().join(", ")}`);
    process.exit(1);
  }, 1000);
  seconds.unref(); // they pass only while something else keeps the file
});
