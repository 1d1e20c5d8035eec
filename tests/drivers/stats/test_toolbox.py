import asyncio
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

import pytest

from sandbox_server.core.errors import Unavailable
from sandbox_server.drivers.spawn.process import Completed, Exit, Processes
from sandbox_server.drivers.stats.toolbox import MAX_SHOWN, Toolbox

if TYPE_CHECKING:
    from tests.conftest import SpawnerDaemon

pytestmark = pytest.mark.anyio


class Daemon(Protocol):
    socket: str


@pytest.fixture
def toolbox(spawner: Daemon) -> Toolbox:
    return Toolbox(Processes(spawner.socket))


async def test_one_interpreter_is_listed_once_with_every_command_that_starts_it(toolbox: Toolbox) -> None:
    [python] = await toolbox.interpreters("python", ["python3", "python3.13", "python3.9"])

    assert set(python.commands) == {"python3", "python3.13"}
    assert python.version.startswith("3.13.")
    assert python.path == "/usr/bin/python3.13"


async def test_a_language_that_is_not_installed_has_no_interpreter(toolbox: Toolbox) -> None:
    assert await toolbox.interpreters("nodejs", ["node-that-is-not-there"]) == []


async def test_only_commands_that_exist_are_present(toolbox: Toolbox) -> None:
    assert await toolbox.present(["bash", "no-such-command"]) == {"bash"}


async def test_a_name_is_never_run_as_shell_code(toolbox: Toolbox) -> None:
    assert await toolbox.present(["$(echo bash)"]) == set()


async def test_python_packages_are_those_of_the_agents_interpreter(toolbox: Toolbox) -> None:
    names = {name for name, _ in await toolbox.python_packages()}

    assert "mcp" not in names


async def test_without_npm_there_are_no_node_packages(toolbox: Toolbox) -> None:
    if await toolbox.present(["npm"]):
        pytest.skip("this image has npm")
    assert await toolbox.node_packages() == []


WORST = {
    "nothing that is JSON": "echo nonsense",
    "deep JSON": "head -c 200000 /dev/zero | tr '\\0' '['",
    "another kind of JSON": """echo '{"dependencies": [5], "x": {}}'""",
    "entries of other kinds": """echo '[[1, 2], ["a"], "b", ["c", {}], ["d", "1"]]'""",
    "more than is read": "head -c 10000000 /dev/zero",
}


def replaced(spawner: "SpawnerDaemon", home: Path, script: str, *names: str) -> Toolbox:
    """A toolbox of an agent that has put something else in the place of programs."""
    for name in names:
        (home / name).write_text(f"#!/bin/sh\n{script}\n")
        (home / name).chmod(0o755)
    spawner.environment |= {"PATH": f"{home}:{spawner.environment['PATH']}"}
    spawner.stop()
    spawner.start()
    return Toolbox(Processes(spawner.socket))


@pytest.mark.parametrize("script", WORST)
async def test_what_is_put_in_the_place_of_the_programs_that_list_packages_is_read_as_far_as_it_makes_sense(
    spawner: "SpawnerDaemon", home: Path, script: str
) -> None:
    toolbox = replaced(spawner, home, WORST[script], "python3", "npm")
    for asked in (toolbox.python_packages, toolbox.node_packages):
        try:
            async with asyncio.timeout(30):
                assert {name for name, _ in await asked()} <= {"c", "d", "npm"}
        except Unavailable:
            pass


async def test_a_program_that_says_its_version_in_many_lines_or_never_is_listed_all_the_same(spawner: "SpawnerDaemon", home: Path) -> None:
    toolbox = replaced(spawner, home, "printf 'a\\tb\\nc\\n'; exec sleep 60", "chatty")
    async with asyncio.timeout(30):
        (found,) = await toolbox.interpreters("chatter", ["chatty"])
    assert found.commands == ("chatty",)


async def test_no_package_is_listed_twice(toolbox: Toolbox) -> None:
    names = [name.lower().replace("_", "-") for name, _ in await toolbox.python_packages()]
    assert len(names) == len(set(names))


class Says:
    """In place of processes: programs that write something."""

    def __init__(self, written: bytes) -> None:
        self._written = written

    async def run(self, *_: object, **__: object) -> Completed:
        return Completed(Exit(0, None), self._written, b"", truncated=False)


def hostile(written: bytes) -> Toolbox:
    return Toolbox(Says(written))  # type: ignore[arg-type] # as far as it is used


@pytest.mark.parametrize("written", [b"", b"{", b"[" * 100_000, b"[1]", b'[["a"]]', b'{"a": 1}', b"\xff"])
async def test_a_list_that_the_agents_programs_make_up_is_said_to_be_unreadable(written: bytes) -> None:
    with pytest.raises(Unavailable, match="the agent's own programs"):
        await hostile(written).python_packages()


async def test_names_and_versions_are_shown_in_one_line() -> None:
    [(name, version)] = await hostile(b'[["\\u001b[2Ja\\nb", ' + b"1" * 4000 + b"]]").python_packages()
    assert (name, len(version)) == ("[2Jab", MAX_SHOWN)


async def test_a_version_of_several_lines_and_tabs_names_no_other_program() -> None:
    written = b"node\t/usr/bin/node\tv1\n2\t3\nsh\t/tmp/x\t9\nnode\trelative\t1\n"
    found = await hostile(written).interpreters("nodejs", ["node"])
    assert [(each.path, each.commands) for each in found] == [("/usr/bin/node", ("node",))]
