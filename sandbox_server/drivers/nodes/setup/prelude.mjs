// Loaded before a program that runs once. `require` is there in ES modules, too, and descriptor 4 hears of the exception that ends it.
import { writeSync } from 'node:fs';
import { createRequire } from 'node:module';
import { described } from './errors.mjs';

globalThis.require ??= createRequire(process.argv[1]);

process.on('uncaughtExceptionMonitor', (error) => {
  try {
    writeSync(4, `${JSON.stringify({ event: 'failed', error: described(error) })}\n`);
  } catch {
    // Nobody listens any more; the exception ends the program all the same.
  }
});
