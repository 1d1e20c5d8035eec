"""What a session evaluates, and what it survives."""

from dataclasses import replace
from pathlib import Path

import anyio
import pytest

from sandbox_server.core.errors import Conflict, InvalidArgument, NotFound
from sandbox_server.drivers.nodes import session as module
from sandbox_server.drivers.nodes.outcome import NodeOutcome
from sandbox_server.drivers.nodes.session import NodeSession
from sandbox_server.drivers.nodes.sessions import NodeSessions
from tests.drivers.nodes.conftest import LIMITS

pytestmark = pytest.mark.anyio

CASES = [
    ("1 + 1", "2"),
    ("const a = 1; const b = [a, {b: a}]; b", "[ 1, { b: 1 } ]"),
    ("const a = 2; a", "2"),
    ("let x = await Promise.resolve(5); x", "5"),
    ("x + a", "7"),
    ("undefined", None),
    ("null", "null"),
    ("10n ** 3n", "1000n"),
    ("-0", "-0"),
    ("import fs, {existsSync as there} from 'node:fs'\nimport * as p from \"path\"; there('/')", "true"),
    ("const {join} = await import('path'); join('a', 'b')", "'a/b'"),
    ("require('path').join(`${typeof import('os')} import z from 'z'`, 'import(1)')", "\"object import z from 'z'/import(1)\""),
    ("const re = /import x from 'y'/g; 6 / 2 / 1 // import q from 'q'", "3"),
    ("export const twice = (n) => n * 2; export default function f() { return twice(4) }\nf()", "8"),
    ("typeof import.meta.dirname", "'string'"),
    ("Promise.resolve(5)", "Promise { 5 }"),
    ("new Promise(() => {})", "Promise { <pending> }"),
    ("for await (const n of [1, 2]) a; x", "5"),
]  # fmt: skip


async def run(session: NodeSession, code: str, **more: object) -> NodeOutcome:
    limits = replace(LIMITS, timeout=float(str(more.pop("timeout", 30))))
    with anyio.fail_after(60):
        return await session.execute(code, limits, **more)  # type: ignore[arg-type] # passed on


@pytest.mark.parametrize("version", ["20", "22", "24"])
async def test_code_is_evaluated_as_in_a_console(node_sessions: NodeSessions, version: str) -> None:
    session, _ = await node_sessions.create("s", version, None)
    for number, (code, shown) in enumerate(CASES, 1):
        done = await run(session, code)
        assert (code, done.status, done.result, done.count, done.thrown) == (code, "ok", shown, number, None)


async def test_streams_are_apart_and_an_exception_has_its_name(node_sessions: NodeSessions) -> None:
    session, _ = await node_sessions.create("s", None, None)
    done = await run(session, "console.log('out'); console.error('err'); throw new TypeError('bad')")

    assert (done.stdout, done.stderr, done.status, done.exit_code) == ("out\n", "err\n", "error", 1)
    assert done.thrown
    assert (done.thrown.name, done.thrown.text) == ("TypeError", "bad")


@pytest.mark.parametrize("endless", ["while (true);", "await new Promise(() => {})"])
async def test_code_that_takes_too_long_is_stopped_and_the_variables_stay(
    node_sessions: NodeSessions, endless: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "GRACE", 30.0)
    session, _ = await node_sessions.create("s", None, None)
    await run(session, "let x = 41")
    late = await run(session, endless, timeout=1)
    after = await run(session, "for (let i = 0; i < 1e6; i++) ({i}); x + 1")  # the garbage is collected meanwhile

    assert (late.status, late.exit_code, after.result) == ("timeout", 124, "42")


async def test_a_process_that_does_not_answer_any_more_is_ended(node_sessions: NodeSessions) -> None:
    session, _ = await node_sessions.create("s", None, None)
    await run(session, "1")  # the process runs before the time does
    late = await run(session, "setImmediate(() => { while (true); }); await new Promise(() => {})", timeout=1)
    after = await run(session, "2")

    assert (late.status, "process ended" in late.notes[-1]) == ("timeout", True)
    assert (after.result, "new process" in after.notes[0]) == ("2", True)


async def test_a_failure_that_nobody_waits_for_does_not_end_the_session(node_sessions: NodeSessions) -> None:
    session, _ = await node_sessions.create("s", None, None)
    await run(session, "let x = 5; Promise.reject(new Error('stray')); setTimeout(() => { throw new Error('late') }, 1)")
    done = await run(session, "await new Promise((resolve) => setTimeout(resolve, 50)); x")

    assert done.result == "5"


async def test_leaving_ends_the_process_and_the_next_code_gets_a_new_one(node_sessions: NodeSessions) -> None:
    session, _ = await node_sessions.create("s", None, None)
    done = await run(session, "process.exit(5)")
    after = await run(session, "typeof x")

    assert (done.status, done.exit_code) == ("error", 5)
    assert (after.result, "without the variables" in after.notes[0]) == ("'undefined'", True)


async def test_input_types_and_the_directory_are_taken(node_sessions: NodeSessions, home: Path) -> None:
    session, _ = await node_sessions.create("s", None, None)
    assert (await run(session, "process.cwd()")).result == f"'{home}'"
    session.move("/usr")
    assert (await run(session, "process.cwd()")).result == "'/usr'"
    assert (await run(session, "const n: number = 4; n", typescript=True)).result == "4"
    heard = "await new Promise((resolve) => process.stdin.once('data', (data) => resolve(String(data))))"
    assert (await run(session, heard, stdin="given")).result == "'given'"


async def test_code_waits_for_its_turn_but_not_longer_than_its_time(node_sessions: NodeSessions) -> None:
    session, _ = await node_sessions.create("s", None, None)
    async with anyio.create_task_group() as group:
        group.start_soon(run, session, "await new Promise(() => {})")
        while not session.busy:
            await anyio.lowlevel.checkpoint()
        with pytest.raises(Conflict):
            await run(session, "1", timeout=0.1)
        await session.close()
    with pytest.raises(NotFound):
        await run(session, "1")


async def test_an_old_version_runs_no_types(node_sessions: NodeSessions) -> None:
    session, _ = await node_sessions.create("s", "20", None)
    with pytest.raises(InvalidArgument, match="node20"):
        await run(session, "1", typescript=True)


WORST = {
    "a result without end": "'x'.repeat(500_000_000)",
    "an exception without end": "throw new Error('x'.repeat(100_000_000))",
    "a line without end": "const fs = require('fs'); for (;;) fs.writeSync(3, 'x'.repeat(65536))",
    "a deep answer": "require('fs').writeSync(3, '['.repeat(100000) + '\\n')",
    "no object": "require('fs').writeSync(3, '5\\n')",
    "an answer that is none": "require('fs').writeSync(3, JSON.stringify({id: 9, text: 'forged'}) + '\\n'); 5",
    "lines to nobody without an end": "const fs = require('fs'); for (;;) fs.writeSync(3, '{}\\n')",
    "an answer of other kinds": (
        "require('fs').writeSync(3, JSON.stringify({id: 1, status: [], text: {}, count: 'x', dropped: -1, "
        "error: {name: [], message: {}, stack: Array(100000).fill({})}}) + '\\n')"
    ),
}


@pytest.mark.parametrize("code", WORST)
async def test_whatever_a_process_answers_is_bounded_and_the_session_goes_on(node_sessions: NodeSessions, code: str) -> None:
    session, _ = await node_sessions.create("s", None, None)
    with anyio.fail_after(60):
        done = await run(session, WORST[code], timeout=20)
        after = await run(session, "2 + 2", timeout=20)

    assert len(done.result or "") <= LIMITS.output
    assert done.thrown is None or len("".join(done.thrown.stack)) < 3_000_000
    assert after.result == "4"
