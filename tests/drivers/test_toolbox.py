from typing import Protocol

import pytest

from sandbox_server.core import Unavailable
from sandbox_server.drivers.process import Completed, Exit, Processes
from sandbox_server.drivers.toolbox import MAX_SHOWN, Toolbox

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

    assert "starlette" not in names


async def test_without_npm_there_are_no_node_packages(toolbox: Toolbox) -> None:
    if await toolbox.present(["npm"]):
        pytest.skip("this image has npm")
    assert await toolbox.node_packages() == []


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
