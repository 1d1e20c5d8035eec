"""A real VNC server on a real display."""

import os
import socket
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.drivers.x11.conftest import XServer, desktop, program, xserver
from tests.patience import PATIENCE_SECONDS, until

__all__ = ["desktop", "program", "xserver"]


class VncProcess:
    """TigerVNC's server for a display that exists."""

    def __init__(self, path: Path, display: str) -> None:
        self.path = str(path)
        argv = ["X0tigervnc", f"-display={display}", "-rfbport=-1", f"-rfbunixpath={path}", "-SecurityTypes=None", "-Log=*:stderr:0"]
        self.process = subprocess.Popen([*argv, "-SendPrimary=0"], env=os.environ | {"HOME": str(path.parent)})
        until(self._listens)  # its socket is there a moment before it does

    def _listens(self) -> bool:
        with socket.socket(socket.AF_UNIX) as trying:
            return trying.connect_ex(self.path) == 0

    def kill(self) -> None:
        """End it at once."""
        self.process.kill()
        self.process.wait(PATIENCE_SECONDS)


@pytest.fixture
def vnc(xserver: XServer, tmp_path: Path) -> Iterator[VncProcess]:
    """A running VNC server."""
    server = VncProcess(tmp_path / "vnc.sock", xserver.name)
    yield server
    server.kill()
