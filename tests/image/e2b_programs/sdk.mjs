// E2B's SDK of npm: everything that it can do, once. It prints the public methods of its classes and those that were called, as JSON.
import assert from 'node:assert/strict'
import { createRequire } from 'node:module'
import { pathToFileURL } from 'node:url'

const packages = createRequire(pathToFileURL(process.env.E2B_PACKAGES))
const { CommandExitError, FileNotFoundError, Sandbox, SandboxError } = await import(pathToFileURL(packages.resolve('@e2b/code-interpreter')).href)
const called = new Set()
const classes = new Map()

function noted(part, target) {
  classes.set(part, target)
  return new Proxy(target, {
    get(object, name) {
      const value = object[name]
      if (['commands', 'files', 'pty'].includes(name)) return noted(name, value)
      if (typeof value !== 'function') return value
      called.add(`${part}.${String(name)}`)
      return value.bind(object)
    },
  })
}

function methods(part, target) {
  const found = new Set()
  for (let kind = target; kind && kind !== Object.prototype; kind = Object.getPrototypeOf(kind))
    for (const name of Object.getOwnPropertyNames(kind))
      if (!['constructor', 'then'].includes(name) && !name.startsWith('_') && typeof Object.getOwnPropertyDescriptor(kind, name).value === 'function')
        found.add(`${part}.${name}`)
  return found
}

const until = async (true_) => {
  for (let turn = 0; turn < 600 && !true_(); turn++) await new Promise((resolve) => setTimeout(resolve, 100))
  assert.ok(true_())
}

const made = await Sandbox.create({ timeoutMs: 900_000, requestTimeoutMs: 300_000, envs: { GREETING: 'hello' }, metadata: { run: 'npm' } })
const sandbox = noted('Sandbox', made)
try {
  await commands()
  await files()
  await code()
  await asleep()
  await copied()
} finally {
  assert.equal(await sandbox.kill(), true)
}
assert.equal(await sandbox.isRunning(), false)

async function commands() {
  const done = await sandbox.commands.run('echo $GREETING; echo err >&2', { cwd: '/tmp' })
  assert.deepEqual([done.stdout, done.stderr, done.exitCode], ['hello\n', 'err\n', 0])
  await assert.rejects(sandbox.commands.run('exit 7'), (error) => error instanceof CommandExitError && error.exitCode === 7)
  const cat = noted('CommandHandle', await sandbox.commands.run('cat', { background: true, stdin: true }))
  assert.ok((await sandbox.commands.list()).some((one) => one.pid === cat.pid))
  await sandbox.commands.sendStdin(cat.pid, 'one\n')
  await sandbox.commands.closeStdin(cat.pid)
  assert.equal((await cat.wait()).stdout, 'one\n')
  const other = noted('CommandHandle', await sandbox.commands.run('cat', { background: true, stdin: true }))
  await other.sendStdin('two\n')
  await other.closeStdin()
  assert.equal((await other.wait()).stdout, 'two\n')
  const sleeping = noted('CommandHandle', await sandbox.commands.run('sleep 1000', { background: true }))
  const again = noted('CommandHandle', await sandbox.commands.connect(sleeping.pid))
  await again.disconnect()
  assert.equal(await sleeping.kill(), true)
  assert.equal(await sandbox.commands.kill(sleeping.pid), false)
  let shown = ''
  const onData = (data) => (shown += new TextDecoder().decode(data))
  const terminal = noted('CommandHandle', await sandbox.pty.create({ rows: 20, cols: 70, onData }))
  await sandbox.pty.resize(terminal.pid, { rows: 5, cols: 60 })
  await sandbox.pty.sendInput(terminal.pid, new TextEncoder().encode('stty size\n'))
  await until(() => shown.includes('5 60'))
  await sandbox.pty.connect(terminal.pid, { onData })
  assert.equal(await sandbox.pty.kill(terminal.pid), true)
}

async function files() {
  await sandbox.files.write('a b/ä.txt', 'hello')
  assert.equal(await sandbox.files.read('/home/user/a b/ä.txt'), 'hello')
  await assert.rejects(sandbox.files.read('none'), FileNotFoundError)
  await sandbox.files.writeFiles([{ path: 'one', data: '1' }, { path: '/tmp/two', data: new Blob(['2']) }])
  assert.equal(await sandbox.files.makeDir('d'), true)
  assert.equal(await sandbox.files.makeDir('d'), false)
  await sandbox.files.rename('one', 'd/two')
  assert.deepEqual((await sandbox.files.list('d')).map((entry) => entry.path), ['/home/gem/d/two'])
  assert.equal((await sandbox.files.getInfo('d/two')).size, 1)
  const events = []
  const watch = noted('WatchHandle', await sandbox.files.watchDir('d', (event) => events.push(event)))
  await sandbox.files.write('d/new', '1')
  await until(() => events.some((event) => event.name === 'new' && event.type === 'create'))
  await watch.stop()
  await sandbox.files.remove('d')
  assert.equal(await sandbox.files.exists('d'), false)
  const link = await sandbox.downloadUrl('a b/ä.txt', { useSignatureExpiration: 600 })
  assert.equal(await (await fetch(link)).text(), 'hello')
  assert.ok((await sandbox.uploadUrl('x')).includes('signature='))
}

async function code() {
  const done = await sandbox.runCode('print("out")\n20 + 1')
  assert.deepEqual([done.text, done.logs.stdout], ['21', ['out\n']])
  assert.equal((await sandbox.runCode('1 / 0')).error.name, 'ZeroDivisionError')
  const context = await sandbox.createCodeContext({ cwd: '/tmp' })
  assert.equal((await sandbox.runCode('import os; os.getcwd()', { context })).text, '/tmp')
  assert.ok((await sandbox.listCodeContexts()).some((one) => one.id === context.id))
  await sandbox.restartCodeContext(context)
  await sandbox.removeCodeContext(context)
}

async function asleep() {
  assert.equal((await sandbox.getInfo()).metadata.run, 'npm')
  assert.equal((await sandbox.getMetrics()).length, 1)
  await sandbox.setTimeout(600_000)
  assert.ok(sandbox.getHost(3000).startsWith(`3000-${sandbox.sandboxId}.`))
  assert.equal(await sandbox.pause(), true)
  assert.equal(await sandbox.betaPause(), false)
  assert.equal(await sandbox.isRunning(), false)
  await sandbox.connect()
  assert.equal(await sandbox.isRunning(), true)
}

async function copied() {
  await sandbox.files.write('kept.txt', 'as it was')
  const kept = await sandbox.createSnapshot({ name: 'npm' })
  assert.deepEqual((await sandbox.listSnapshots().nextItems()).map((one) => one.snapshotId), [kept.snapshotId])
  await sandbox.files.write('kept.txt', 'since then')
  const [fork] = await sandbox.fork({ timeoutMs: 600_000 })
  const copy = await Sandbox.create(kept.snapshotId, { timeoutMs: 600_000, requestTimeoutMs: 300_000 })
  assert.deepEqual([await fork.files.read('kept.txt'), await copy.files.read('kept.txt')], ['since then', 'as it was'])
  for (const one of [fork, copy]) assert.equal(await one.kill(), true)
  assert.equal(await Sandbox.deleteSnapshot(kept.snapshotId), true)
  await sandbox.updateNetwork({ denyOut: ['0.0.0.0/0'] })
  assert.match((await sandbox.commands.run('curl -s --max-time 5 http://elsewhere.example/', { user: 'root' })).stdout, /not allowed .default./)
  await assert.rejects(sandbox.updateNetwork({ rules: { 'a.example': [] } }), SandboxError)
}

const found = [...classes].flatMap(([part, target]) => [...methods(part, target)])
console.log(JSON.stringify({ methods: [...new Set(found)].sort(), called: [...called].sort() }))
