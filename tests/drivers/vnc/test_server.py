"""The way to the VNC server."""

from pathlib import Path

import pytest

from sandbox_server.core.errors import Unavailable
from sandbox_server.drivers.vnc.server import VncServer
from tests.drivers.vnc.conftest import VncProcess

pytestmark = pytest.mark.anyio


async def test_the_server_greets_whoever_connects(vnc: VncProcess) -> None:
    async with VncServer(vnc.path).connect() as (reader, _):
        assert await reader.readexactly(12) == b"RFB 003.008\n"


async def test_a_server_that_is_not_there_is_unavailable(tmp_path: Path) -> None:
    with pytest.raises(Unavailable, match="not running"):
        async with VncServer(str(tmp_path / "nothing.sock")).connect():
            pass
