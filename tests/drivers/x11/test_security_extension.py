"""A cookie of the X server's own making."""

from contextlib import closing

from Xlib import display as xlib

from sandbox_server.drivers.x11.security_extension import untrusted_cookie
from tests.drivers.x11.conftest import XServer


def test_each_cookie_is_another(xserver: XServer) -> None:
    with closing(xlib.Display(xserver.name)) as display:
        cookies = {untrusted_cookie(display) for _ in range(3)}
    assert [len(cookie) for cookie in cookies] == [16, 16, 16]
