// A session: evaluates one piece of code after another as a browser's console does, so that `let` and `const` may be declared anew and
// `await` stands anywhere. Requests and answers are lines of JSON on descriptor 3, a socket; the program's own streams are the code's.
import inspector from 'node:inspector';
import module, { createRequire } from 'node:module';
import net from 'node:net';
import path from 'node:path';
import { createInterface } from 'node:readline';
import { inspect } from 'node:util';
import { promiseHooks } from 'node:v8';
import vm from 'node:vm';
import { described } from './errors.mjs';
import { asScript } from './imports.mjs';

const IMPORTER = '__sandbox_import';
const KEEP = '__sandbox_keep';
const channel = new net.Socket({ fd: 3, readable: true, writable: true });
const debug = new inspector.Session();
debug.connect();

const post = (method, parameters) =>
  new Promise((resolve, reject) => debug.post(method, parameters, (error, result) => (error ? reject(error) : resolve(result))));
const answer = (message) => channel.write(`${JSON.stringify(message)}\n`);
const hidden = (name, value) => Object.defineProperty(globalThis, name, { value, writable: true, configurable: true, enumerable: false });

const unsettled = new Set();

let count = 0;
let kept;

class LateError extends Error {
  name = 'TimeoutError';
}

/** Let code import and require relative to where the session is. */
function settle(directory) {
  if (directory) process.chdir(directory);
  const here = path.join(process.cwd(), 'session.mjs');
  const load = new vm.Script('(what, how) => import(what, how)', {
    filename: here,
    importModuleDynamically: vm.constants.USE_MAIN_CONTEXT_DEFAULT_LOADER,
  }).runInThisContext();
  hidden(IMPORTER, Object.assign(load, { meta: { url: `file://${here}`, filename: here, dirname: process.cwd() } }));
  hidden('require', createRequire(here));
}

/** The value that the debugger has, as it calls it. */
async function found(remote) {
  if (remote.objectId) {
    await post('Runtime.callFunctionOn', { objectId: remote.objectId, functionDeclaration: `function () { ${KEEP}(this); }` });
    return { value: kept };
  }
  return { value: 'unserializableValue' in remote ? (0, eval)(`(${remote.unserializableValue})`) : remote.value };
}

/** Evaluate, and wait for what the code awaits. V8 does not survive that a promise which it waits for is collected, as one that nobody
 * can ever settle would be: so every promise that the code makes is held until the evaluation is over. */
async function valueOf(expression, timeout) {
  const promises = [];
  const stop = promiseHooks.onInit((promise) => promises.push(promise));
  const evaluation = post('Runtime.evaluate', { expression, replMode: true, timeout });
  stop();
  unsettled.add(promises);
  const { result, exceptionDetails } = await evaluation
    .finally(() => unsettled.delete(promises))
    .catch(() => {
      throw new LateError(`the code did not end within ${timeout / 1000} s`);
    });
  const { value } = await found(exceptionDetails?.exception ?? result);
  if (exceptionDetails) throw value;
  return { value };
}

async function within(work, timeout) {
  let timer;
  const late = new Promise((_, reject) => {
    timer = setTimeout(() => reject(new LateError(`the code did not end within ${timeout / 1000} s`)), timeout);
  });
  return Promise.race([work, late]).finally(() => clearTimeout(timer));
}

/** The beginning of a text that takes at most `room` bytes of JSON. */
function fitting(text, room) {
  let kept = text.slice(0, room);
  for (let size; (size = Buffer.byteLength(JSON.stringify(kept))) > room + 2; ) kept = kept.slice(0, Math.floor((kept.length * room) / size));
  return kept;
}

async function execute({ code, timeout, typescript, cwd }) {
  if (cwd) settle(cwd);
  count += 1;
  const source = typescript ? module.stripTypeScriptTypes(code, { mode: 'transform' }) : code;
  const { value } = await within(valueOf(asScript(source, IMPORTER), timeout), timeout);
  return value === undefined ? undefined : inspect(value);
}

async function handle(request) {
  const { id } = request;
  try {
    const whole = await execute(request);
    const text = whole === undefined ? undefined : fitting(whole, request.room);
    const dropped = whole === text ? 0 : Buffer.byteLength(whole) - Buffer.byteLength(text);
    answer({ id, event: 'done', status: 'ok', count, text, dropped });
  } catch (thrown) {
    answer({ id, event: 'done', status: thrown instanceof LateError ? 'timeout' : 'error', count, error: described(thrown) });
  }
}

hidden(KEEP, (value) => {
  kept = value;
});
settle();
// What fails with nobody waiting for it must not end the session.
const stray = (error) => process.stderr.write(`${described(error).stack.join('\n')}\n`);
process.on('uncaughtException', stray);
process.on('unhandledRejection', stray);
createInterface({ input: channel }).on('line', (line) => handle(JSON.parse(line))).on('close', () => process.exit(0));
