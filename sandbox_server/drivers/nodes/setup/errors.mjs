// What is told of an exception: its class, its text, and its stack without the frames of the sandbox.
import { inspect } from 'node:util';

const OURS = /drivers\/nodes\/setup\/|node:inspector|node:internal\//;

const MAX_WORDS = 10_000;
const MAX_LINES = 200;
const short = (text) => String(text).slice(0, MAX_WORDS);

/**
 * @param {unknown} thrown anything: JavaScript throws what it likes
 * @returns {{name: string, message: string, stack: string[]}}
 */
export function described(thrown) {
  if (!(thrown instanceof Error)) {
    const text = short(inspect(thrown));
    return { name: 'Uncaught', message: text, stack: [`Uncaught ${text}`] };
  }
  const stack = String(thrown.stack ?? thrown).split('\n').filter((line) => !OURS.test(line));
  return { name: short(thrown.name), message: short(thrown.message), stack: stack.slice(0, MAX_LINES).map(short) };
}
