"""Shared memory shows what the protocol's own way shows, and nobody else can read it."""

import gc
import os
import socket
from pathlib import Path
from types import SimpleNamespace

import pytest
from Xlib import X
from Xlib import display as xlib
from Xlib.error import ConnectionClosedError

from sandbox_server.drivers.x11.shm import ALL_PLANES, Segment, _server_uid
from tests.drivers.x11.conftest import XServer


def segments() -> list[str]:
    """The System V segments of this machine's namespace."""
    with open("/proc/sysvipc/shm", encoding="ascii") as table:
        return table.read().splitlines()[1:]


def test_a_grab_is_what_the_x_server_sends_otherwise(xserver: XServer) -> None:
    display = xlib.Display(xserver.name)
    root = display.screen().root
    root.fill_rectangle(root.create_gc(foreground=0x123456), 10, 10, 50, 50)
    segment = Segment(display, 100 * 80 * 4)
    grabbed = segment.grab(5, 5, 100, 80)
    assert grabbed == root.get_image(5, 5, 100, 80, X.ZPixmap, ALL_PLANES).data
    assert bytes([0x56, 0x34, 0x12]) in grabbed
    segment.close()
    display.close()


def test_no_segment_is_left_when_it_is_closed(xserver: XServer) -> None:
    display = xlib.Display(xserver.name)
    before = segments()
    segment = Segment(display, 4096)
    assert len(segments()) == len(before) + 1
    segment.close()
    display.sync()
    assert segments() == before
    display.close()


def test_only_the_x_servers_user_and_ours_may_attach(xserver: XServer) -> None:
    display = xlib.Display(xserver.name)
    segment = Segment(display, 4096)
    modes = [line.split()[2] for line in segments()]
    assert {mode[-3:] for mode in modes} == {"600"}
    segment.close()
    display.close()


def test_without_a_connection_none_is_made_and_none_is_missed_later(xserver: XServer) -> None:
    display, before = xlib.Display(xserver.name), segments()
    display.close()
    with pytest.raises(ConnectionClosedError):
        Segment(display, 4096)
    gc.collect()  # what is wrong then fails the test
    assert segments() == before


def test_the_server_is_whose_the_socket_is_and_not_who_the_kernel_says_is_connected(tmp_path: Path) -> None:
    path = str(tmp_path / "X9")
    with socket.socket(socket.AF_UNIX) as listening, socket.socket(socket.AF_UNIX) as connected:
        listening.bind(path)
        listening.listen()
        connected.connect(path)
        os.chown(path, 4242, -1)
        assert _server_uid(SimpleNamespace(display=SimpleNamespace(socket=connected))) == 4242  # type: ignore[arg-type]
