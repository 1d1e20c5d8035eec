import os
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from sandbox_server.core.errors import InvalidArgument
from sandbox_server.drivers.documents.markdown import Conversion, Known
from sandbox_server.drivers.spawn.process import Processes

if TYPE_CHECKING:
    from tests.conftest import SpawnerDaemon

pytestmark = pytest.mark.anyio


async def markdown(spawner: "SpawnerDaemon", path: Path, known: Known) -> str:
    fd = os.open(path, os.O_RDONLY)
    try:
        return await Conversion(Processes(spawner.socket)).markdown(fd, known)
    finally:
        os.close(fd)


async def test_a_document_is_converted_by_a_process_of_the_agent(spawner: "SpawnerDaemon", tmp_path: Path) -> None:
    (tmp_path / "page").write_text("<h1>Head</h1>")

    assert (await markdown(spawner, tmp_path / "page", Known("text/html"))).strip() == "# Head"


async def test_what_cannot_be_converted_is_the_callers(spawner: "SpawnerDaemon", tmp_path: Path) -> None:
    (tmp_path / "program").write_bytes(b"\x7fELF\0\0\0")

    with pytest.raises(InvalidArgument, match="neither text nor a supported document"):
        await markdown(spawner, tmp_path / "program", Known())
