from typing import Protocol

import pytest

from sandbox_server.drivers.process import Processes
from sandbox_server.drivers.toolbox import Toolbox

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
