"""Programs in every Node.js."""

from dataclasses import replace
from pathlib import Path

import anyio
import pytest

from sandbox_server.core.errors import InvalidArgument
from sandbox_server.drivers.nodes.nodes import Nodes
from sandbox_server.drivers.nodes.outcome import NodeOutcome
from sandbox_server.drivers.nodes.script import NodeProgram, NodeScripts
from tests.drivers.nodes.conftest import LIMITS

pytestmark = pytest.mark.anyio

VERSIONS = ["20", "22", "24"]


async def run(scripts: NodeScripts, nodes: Nodes, program: NodeProgram, version: str | None = None, **limits: int) -> NodeOutcome:
    with anyio.fail_after(60):
        return await scripts.run(await nodes.get(version), program, replace(LIMITS, **limits))


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize(("code", "printed"), [
    ("const fs = require('fs'); console.log(typeof fs.existsSync, require.main === module)", "function true"),
    ("import fs from 'fs'; console.log(typeof fs.existsSync, typeof import.meta.url)", "function string"),
    ("const fs = require('fs'); console.log(await Promise.resolve(typeof fs.existsSync))", "function"),
    ("setTimeout(() => console.log('later'), 1)", "later"),
])  # fmt: skip
async def test_modules_of_both_kinds_run_and_await_stands_anywhere(
    scripts: NodeScripts, nodes: Nodes, version: str, code: str, printed: str
) -> None:
    done = await run(scripts, nodes, NodeProgram(code), version)

    assert (done.status, done.exit_code, done.stdout, done.stderr) == ("ok", 0, f"{printed}\n", "")


@pytest.mark.parametrize("version", ["22", "24"])
async def test_types_are_stripped(scripts: NodeScripts, nodes: Nodes, version: str) -> None:
    code = "enum Size { Small = 3 }\nconst size: number = Size.Small; console.log(size satisfies number)"
    assert (await run(scripts, nodes, NodeProgram(code, typescript=True), version)).stdout == "3\n"


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize(("code", "name", "text"), [
    ("throw new TypeError('bad')", "TypeError", "bad"),
    ("await Promise.reject(new RangeError('far'))", "RangeError", "far"),
    ("throw 'text'", "Uncaught", "'text'"),
    ("let x = {", "SyntaxError", "Unexpected end of input"),
])  # fmt: skip
async def test_an_exception_is_told_apart_from_what_it_printed(
    scripts: NodeScripts, nodes: Nodes, version: str, code: str, name: str, text: str
) -> None:
    done = await run(scripts, nodes, NodeProgram(code), version)

    assert (done.status, done.exit_code) == ("error", 1)
    assert done.thrown
    assert (done.thrown.name, done.thrown.text) == (name, text)
    assert done.stderr


async def test_a_program_has_its_input_its_files_and_a_directory_that_is_gone_afterwards(
    scripts: NodeScripts, nodes: Nodes, home: Path
) -> None:
    code = "const fs = require('fs'); console.log(fs.readFileSync(0, 'utf8'), require('./lib/x').y, process.cwd())"
    done = await run(scripts, nodes, NodeProgram(code, stdin="given", files={"lib/x.js": "exports.y = 5"}))

    given, value, directory = done.stdout.split()
    assert (given, value, Path(directory).parent) == ("given", "5", home)
    assert not Path(directory).exists()
    assert list(home.iterdir()) == []


async def test_a_directory_that_was_given_stays_with_all_but_the_program(scripts: NodeScripts, nodes: Nodes, home: Path) -> None:
    done = await run(scripts, nodes, NodeProgram("require('fs').writeFileSync('out', '1')", files={"in": "2"}, directory=str(home)))

    assert done.status == "ok"
    assert sorted(path.name for path in home.iterdir()) == ["in", "out"]


@pytest.mark.parametrize("name", ["/etc/x", "../x", "a/../../x", ""])
async def test_a_file_stays_in_the_directory(scripts: NodeScripts, nodes: Nodes, name: str) -> None:
    with pytest.raises(InvalidArgument, match="file name"):
        await run(scripts, nodes, NodeProgram("1", files={name: ""}))


@pytest.mark.parametrize("directory", ["/no/such", "/usr"])
async def test_a_directory_that_cannot_be_used_is_named(scripts: NodeScripts, nodes: Nodes, directory: str) -> None:
    with pytest.raises(InvalidArgument, match=directory):
        await run(scripts, nodes, NodeProgram("1", directory=directory))


@pytest.mark.parametrize("rest", ["while (true);", "process.on('SIGTERM', () => {}); setInterval(() => {}, 1)"])
async def test_a_program_ends_with_its_time_whatever_it_does(scripts: NodeScripts, nodes: Nodes, rest: str) -> None:
    done = await run(scripts, nodes, NodeProgram(f"console.log('on'); {rest}"), timeout=4)

    assert (done.status, done.exit_code, done.stdout) == ("timeout", 124, "on\n")


async def test_exit_codes_and_signals_are_what_a_shell_would_show(scripts: NodeScripts, nodes: Nodes) -> None:
    assert (await run(scripts, nodes, NodeProgram("process.exit(3)"))).exit_code == 3
    assert (await run(scripts, nodes, NodeProgram("process.kill(process.pid, 'SIGKILL')"))).exit_code == 137


async def test_too_much_output_is_cut_and_said(scripts: NodeScripts, nodes: Nodes) -> None:
    done = await run(scripts, nodes, NodeProgram("process.stdout.write('x'.repeat(50_000))"), output=100)

    assert (done.stdout, done.notes) == ("x" * 100, ("49900 bytes of output were over the limit and were not kept",))


async def test_a_program_whose_child_keeps_what_it_had_open_is_over_all_the_same(scripts: NodeScripts, nodes: Nodes) -> None:
    code = "require('child_process').spawn('setsid', ['sleep', '30'], {detached: true, stdio: ['ignore', 1, 2, 3, 4]}).unref()"
    with anyio.fail_after(20):
        done = await run(scripts, nodes, NodeProgram(code))

    assert (done.status, done.exit_code) == ("ok", 0)


@pytest.mark.parametrize("told", ["'['.repeat(100000)", "'x'.repeat(60_000_000)", "JSON.stringify({error: {name: {}, stack: 5}})"])
async def test_whatever_a_program_tells_of_its_end_is_bounded(scripts: NodeScripts, nodes: Nodes, told: str) -> None:
    code = f"try {{ require('fs').writeSync(4, {told} + '\\n') }} catch {{}}; process.exit(3)"
    with anyio.fail_after(40):
        done = await run(scripts, nodes, NodeProgram(code), timeout=5)

    assert done.exit_code in (3, 124)  # nobody reads so much: it waits until its time is over
