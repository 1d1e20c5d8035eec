// What is told of an exception: its class, its text, and its stack without the frames of the sandbox.
import { inspect } from 'node:util';

const OURS = /drivers\/nodes\/setup\/|node:inspector|node:internal\//;

/**
 * @param {unknown} thrown anything: JavaScript throws what it likes
 * @returns {{name: string, message: string, stack: string[]}}
 */
export function described(thrown) {
  if (!(thrown instanceof Error)) {
    const text = inspect(thrown);
    return { name: 'Uncaught', message: text, stack: [`Uncaught ${text}`] };
  }
  const stack = String(thrown.stack ?? thrown).split('\n').filter((line) => !OURS.test(line));
  return { name: String(thrown.name), message: String(thrown.message), stack };
}
