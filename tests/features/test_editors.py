from typing import TYPE_CHECKING

import anyio
import pytest

from sandbox_server.core import NotFound
from sandbox_server.drivers.editors import Editor, Editors
from sandbox_server.drivers.process import Processes
from sandbox_server.features.editors import EditorPages, EditorRef

if TYPE_CHECKING:
    from tests.conftest import SpawnerDaemon

pytestmark = pytest.mark.anyio

MISSING = Editor("missing", "Missing", 9, "/no/such", ["true"], "MISSING=1")
THERE = Editor("there", "There", 9, "/bin/sh", ["true"], "THERE=1")


async def test_the_list_tells_what_the_image_has_and_how_to_have_the_rest(spawner: "SpawnerDaemon") -> None:
    async with Editors(Processes(spawner.socket), [MISSING, THERE]) as editors:
        with anyio.fail_after(30):
            missing, there = (await EditorPages(editors).list_editors()).editors

    assert (missing.installed, missing.hint, missing.path) == (False, "build an image that has it: MISSING=1 scripts/build", "/missing/")
    assert (there.installed, there.hint, there.running) == (True, None, False)


async def test_stopping_one_that_does_not_run_tells_its_state_and_an_unknown_one_is_not_found(spawner: "SpawnerDaemon") -> None:
    async with Editors(Processes(spawner.socket), [THERE]) as editors:
        with anyio.fail_after(30):
            assert not (await EditorPages(editors).stop_editor(EditorRef(name="there"))).running
            with pytest.raises(NotFound):
                await EditorPages(editors).stop_editor(EditorRef(name="other"))
