"""The cursor image is the one that the X server has."""

from Xlib import display as xlib

from sandbox_server.stream.capture.cursor import read_cursor
from tests.drivers.x11.conftest import XServer


def test_the_pointer_has_a_picture_and_points_within_it(xserver: XServer) -> None:
    display = xlib.Display(xserver.name)
    display.xfixes_query_version()
    cursor = read_cursor(display)
    assert len(cursor.pixels) == cursor.width * cursor.height * 4
    assert 0 <= cursor.hot[0] < cursor.width
    assert 0 <= cursor.hot[1] < cursor.height
    display.close()
