import socket
from typing import TYPE_CHECKING

import anyio
import anyio.lowlevel
import pytest

from sandbox_server.core import NotFound, Unavailable
from sandbox_server.drivers.editors import EditorProgram, Editors
from sandbox_server.drivers.ports.listening_ports import Ports
from sandbox_server.drivers.spawn.process import Processes
from sandbox_server.features.editors import EditorPages, EditorRef

if TYPE_CHECKING:
    from tests.conftest import SpawnerDaemon

pytestmark = pytest.mark.anyio

MISSING = EditorProgram("missing", "Missing", 9, "/no/such", ["true"], "MISSING=1")
THERE = EditorProgram("there", "There", 9, "/bin/sh", ["true"], "THERE=1")


async def test_the_list_tells_what_the_image_has_and_how_to_have_the_rest(spawner: "SpawnerDaemon") -> None:
    async with Editors(Processes(spawner.socket), [MISSING, THERE], Ports((), ())) as editors:
        with anyio.fail_after(30):
            missing, there = (await EditorPages(editors).list_editors()).editors

    assert (missing.installed, missing.hint, missing.path) == (False, "build an image that has it: MISSING=1 scripts/build", "/missing/")
    assert (there.installed, there.hint, there.running) == (True, None, False)


async def test_stopping_one_that_does_not_run_tells_its_state_and_an_unknown_one_is_not_found(spawner: "SpawnerDaemon") -> None:
    async with Editors(Processes(spawner.socket), [THERE], Ports((), ())) as editors:
        with anyio.fail_after(30):
            assert not (await EditorPages(editors).stop_editor(EditorRef(name="there"))).running
            with pytest.raises(NotFound):
                await EditorPages(editors).stop_editor(EditorRef(name="other"))


async def test_a_woken_editor_starts_and_answers_with_retry_after(spawner: "SpawnerDaemon") -> None:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    serves = EditorProgram("web", "Web", port, "/bin/sh", ["python3", "-m", "http.server", str(port), "--bind", "127.0.0.1"], "WEB=1")
    async with Editors(Processes(spawner.socket), [serves], Ports((), ())) as editors:
        with anyio.fail_after(30):
            for _ in range(2):
                with pytest.raises(Unavailable, match="Web is starting") as told:
                    await EditorPages(editors).wake_editor(EditorRef(name="web"))
                assert told.value.retry_after
                assert 1 <= told.value.retry_after <= 5
            await editors.start("web")
    assert editors.runs(serves) is False


async def test_an_editor_that_cannot_start_tells_the_next_caller_why(spawner: "SpawnerDaemon") -> None:
    async with Editors(Processes(spawner.socket), [MISSING], Ports((), ())) as editors:
        with anyio.fail_after(30):
            with pytest.raises(Unavailable, match="Missing is starting"):
                await EditorPages(editors).wake_editor(EditorRef(name="missing"))
            await anyio.lowlevel.checkpoint()
            with pytest.raises(Unavailable, match="not in this image"):
                await editors.start("missing")
            with pytest.raises(Unavailable, match="Missing is not in this image"):
                await EditorPages(editors).wake_editor(EditorRef(name="missing"))
            with pytest.raises(NotFound):
                await EditorPages(editors).wake_editor(EditorRef(name="other"))
