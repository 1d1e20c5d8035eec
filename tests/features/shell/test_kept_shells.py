"""What a checkpoint keeps of shells that run."""

import pytest

from sandbox_server.drivers.shells.exported_variables import declared
from sandbox_server.features.shell.kept_shells import KeptShells
from sandbox_server.features.shell.session_management import ShellCreateSessionRequest
from tests.features.shell.conftest import Runner, Server, Shell

pytestmark = pytest.mark.anyio


def masked(text: str) -> str:
    return text.replace("hunter2", "***")


async def test_a_shell_is_kept_with_its_place_variables_and_screen_and_without_secrets(server: Server) -> None:
    async with server.serving() as shell:
        run = Runner(shell, "kept")
        await run("mkdir -p deep; cd deep; export MARK='a \"b\"' PASSWORD=hunter2 HOME=/elsewhere; echo on-the-screen hunter2")
        [kept] = await KeptShells(server.sessions, lambda: {"HOME": "/elsewhere"}, masked).note()
    variables = {each.name: each.value for each in declared(kept.variables)}
    assert (kept.id, kept.directory) == ("kept", f"{server.home}/deep")
    assert variables["MARK"] == 'a "b"'
    assert not {"PASSWORD", "HOME", "PWD"} & set(variables)
    assert "on-the-screen ***" in kept.screen
    assert "hunter2" not in kept.screen


async def test_a_person_s_own_shells_are_left_out(server: Server, shell: Shell) -> None:
    await shell.sessions.create_session(ShellCreateSessionRequest(id="mine"))
    kept = KeptShells(server.sessions, dict, masked)
    assert [each.id for each in await kept.note()] == ["mine"]
    for session in await server.sessions.all():
        session.profile.by_person = True
    assert await kept.note() == ()
