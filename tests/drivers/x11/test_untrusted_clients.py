"""What the agent's programs can do on the display, tried on a real X server, and what they cannot."""

import os
import shutil
import socket
import struct
import subprocess
import threading
from collections.abc import Callable, Iterator
from contextlib import closing, suppress
from random import Random
from typing import Any

import pytest
from Xlib import X, Xatom
from Xlib import display as xlib
from Xlib.error import BadAccess, ConnectionClosedError, XError
from Xlib.ext import xtest
from Xlib.protocol import event as events

from sandbox_server.drivers.x11.untrusted_clients import UntrustedClients, listen
from sandbox_server.drivers.x11.untrusted_requests import MAX_CURSOR
from tests.drivers.x11.conftest import XServer
from tests.patience import PATIENCE_SECONDS, until

DOOR = ":987"
"""A display's number at whose place the guests come in, because Xlib for Python finds displays by number alone."""
A_KEY = 38


@pytest.fixture
def door(xserver: XServer) -> Iterator[Callable[[bool], None]]:
    """Lets guests in; they are trusted or not."""
    path = f"/tmp/.X11-unix/X{DOOR[1:]}"
    opened: list[tuple[socket.socket, threading.Thread]] = []

    def open_door(trusted: bool) -> None:
        listener = listen(path)
        proxy = UntrustedClients(xserver.name, f"/tmp/.X11-unix/X{xserver.name[1:]}", trusted=trusted)
        thread = threading.Thread(target=_serve, args=(proxy, listener))
        thread.start()
        opened.append((listener, thread))

    yield open_door
    for listener, thread in opened:
        listener.shutdown(socket.SHUT_RDWR)
        thread.join(PATIENCE_SECONDS)
        listener.close()
    os.unlink(path)


def _serve(proxy: UntrustedClients, listener: socket.socket) -> None:
    with suppress(OSError):
        proxy.serve(listener)


class Client:
    """A program with a window, which keeps the errors that it was answered."""

    def __init__(self, name: str, x: int, colour: int) -> None:
        self.errors: list[XError] = []
        self.display = xlib.Display(f"unix/{name}")
        self.display.set_error_handler(lambda error, _: self.errors.append(error))
        self.root = self.display.screen().root
        mask = X.KeyPressMask | X.ButtonPressMask | X.FocusChangeMask
        self.window = self.root.create_window(x, 0, 100, 100, 0, 24, background_pixel=colour, event_mask=mask)
        self.window.map()
        self.display.sync()

    def foreign(self, other: "Client") -> Any:
        """A window of another client."""
        return self.display.create_resource_object("window", other.window.id)

    def heard(self) -> list[Any]:
        """The events that have come."""
        self.display.sync()
        return [self.display.next_event() for _ in range(self.display.pending_events())]

    def refused(self) -> bool:
        """Whether something was refused since this was last asked."""
        self.display.sync()
        found, self.errors = self.errors, []
        return any(isinstance(error, BadAccess) for error in found)


@pytest.fixture
def own(xserver: XServer) -> Iterator[Client]:
    """A client of the desktop's own, with the focus."""
    client = Client(xserver.name, 0, 0xFF0000)
    until(lambda: is_shown(client, client))
    client.window.set_input_focus(X.RevertToNone, X.CurrentTime)
    client.display.sync()
    yield client
    with suppress(ConnectionClosedError):  # the test may have ended it
        client.display.close()


@pytest.fixture
def guest(own: Client, door: Callable[[bool], None]) -> Iterator[Client]:
    """A program of the agent."""
    door(False)
    client = Client(DOOR, 200, 0x00FF00)
    yield client
    with suppress(ConnectionClosedError):  # the test may have ended it
        client.display.close()


def is_shown(looker: Client, client: Client) -> bool:
    """Whether a client's window is on the screen."""
    shown: bool = looker.foreign(client).get_attributes().map_state == X.IsViewable
    return shown


def is_shown_out(introduction: bytes) -> bool:
    """Whether a program that says this first is hung up on; it may have said more than was read."""
    with socket.socket(socket.AF_UNIX) as stranger, suppress(ConnectionResetError):
        stranger.settimeout(30)
        stranger.connect(f"/tmp/.X11-unix/X{DOOR[1:]}")
        stranger.sendall(introduction)
        return stranger.recv(1) == b""
    return True


def pixel(window: Any) -> bytes:
    """The first pixel of a drawable."""
    found: bytes = window.get_image(0, 0, 1, 1, X.ZPixmap, 0xFFFFFFFF).data[:3]
    return found


def press(client: Client) -> None:
    """Press a key, as a person does, and let go of it."""
    for kind in (X.KeyPress, X.KeyRelease):
        xtest.fake_input(client.display, kind, A_KEY)
    client.display.sync()


def test_a_guest_shows_a_window_and_sees_it(own: Client, guest: Client) -> None:
    assert is_shown(own, guest)
    assert pixel(guest.window) == b"\x00\xff\x00"


def test_a_guest_has_no_extension_that_acts_or_watches(own: Client, guest: Client) -> None:
    names = ("XTEST", "RECORD", "MIT-SHM", "DAMAGE", "Composite", "XFIXES", "XInputExtension", "SECURITY", "BIG-REQUESTS")
    assert [name for name in names if guest.display.query_extension(name)] == []
    assert own.display.query_extension("XTEST")


def test_a_guest_gets_no_pixels_of_others(own: Client, guest: Client) -> None:
    for window in (guest.root, guest.foreign(own)):
        with pytest.raises(BadAccess):
            pixel(window)
        copy = guest.root.create_pixmap(1, 1, 24)
        copy.copy_area(copy.create_gc(subwindow_mode=X.IncludeInferiors), window, 0, 0, 1, 1, 0, 0)
        assert guest.refused()
        assert pixel(copy) == b"\x00\x00\x00"
    assert pixel(own.window) == b"\x00\x00\xff"


def test_a_guest_cannot_change_or_end_windows_of_others(own: Client, guest: Client) -> None:
    other = guest.foreign(own)
    for act in (
        lambda: other.configure(x=50),
        other.unmap,
        other.destroy,
        other.kill_client,
        lambda: other.change_property(Xatom.WM_NAME, Xatom.STRING, 8, b"x"),
        lambda: other.create_window(0, 0, 9, 9, 0, 24),
        lambda: guest.root.change_attributes(event_mask=X.SubstructureRedirectMask),
    ):
        act()
        assert guest.refused()
    assert is_shown(own, own)


def test_a_guest_can_neither_grab_nor_hear_what_is_typed_to_others(own: Client, guest: Client) -> None:
    window = guest.window
    assert window.grab_keyboard(True, X.GrabModeAsync, X.GrabModeAsync, X.CurrentTime) == X.GrabInvalidTime
    assert window.grab_pointer(True, 0, X.GrabModeAsync, X.GrabModeAsync, 0, 0, X.CurrentTime) == X.GrabInvalidTime
    for other in (guest.root, guest.foreign(own)):
        other.grab_key(A_KEY, X.AnyModifier, True, X.GrabModeAsync, X.GrabModeAsync)
        other.change_attributes(event_mask=X.KeyPressMask)
    guest.display.grab_server()
    guest.display.sync()
    own.heard()
    press(own)
    assert X.KeyPress in [event.type for event in own.heard()]
    assert X.KeyPress not in [event.type for event in guest.heard()]


def test_a_guest_does_not_know_which_keys_are_down(own: Client, guest: Client) -> None:
    xtest.fake_input(own.display, X.KeyPress, A_KEY)
    own.display.sync()
    assert any(own.display.query_keymap())
    assert not any(guest.display.query_keymap())


def test_a_guest_moves_neither_pointer_nor_focus(own: Client, guest: Client) -> None:
    before = own.root.query_pointer()
    guest.root.warp_pointer(5, 5)
    guest.window.set_input_focus(X.RevertToNone, X.CurrentTime)
    guest.display.sync()
    after = own.root.query_pointer()
    assert (after.root_x, after.root_y) == (before.root_x, before.root_y) != (5, 5)
    assert own.display.get_input_focus().focus == own.window


def test_a_guest_sends_events_neither_to_others_nor_to_the_window_manager(own: Client, guest: Client) -> None:
    own.root.change_attributes(event_mask=X.SubstructureNotifyMask)
    own.heard()
    for sender in (guest, own):
        for window in (sender.root, sender.foreign(own)):
            message = events.ClientMessage(window=sender.window, client_type=Xatom.WM_NAME, data=(32, [0] * 5))
            window.send_event(message, event_mask=X.SubstructureNotifyMask | X.KeyPressMask)
            gone = events.UnmapNotify(event=sender.root, window=own.window, from_configure=0)
            window.send_event(gone, event_mask=X.SubstructureNotifyMask | X.KeyPressMask)
        sender.display.sync()
        heard = [event.type & 0x7F for event in own.heard()]
        assert heard == ([X.ClientMessage, X.UnmapNotify] * 2 if sender is own else [])


def test_a_guest_cannot_ask_for_what_is_on_the_clipboard(own: Client, guest: Client) -> None:
    own.window.set_selection_owner(Xatom.PRIMARY, X.CurrentTime)
    own.heard()
    guest.window.convert_selection(Xatom.PRIMARY, Xatom.STRING, Xatom.CUT_BUFFER0, X.CurrentTime)
    guest.display.sync()
    assert own.heard() == []


def test_a_guest_reads_no_properties_of_others_where_what_they_paste_is(own: Client, guest: Client) -> None:
    for client in (own, guest):
        client.window.change_property(Xatom.CUT_BUFFER0, Xatom.STRING, 8, b"pasted")
        client.display.sync()
    own.root.change_property(Xatom.RESOURCE_MANAGER, Xatom.STRING, 8, b"shown")
    own.display.sync()
    assert guest.foreign(own).get_full_property(Xatom.CUT_BUFFER0, Xatom.STRING) is None
    assert guest.window.get_full_property(Xatom.CUT_BUFFER0, Xatom.STRING).value == b"pasted"
    assert guest.root.get_full_property(Xatom.RESOURCE_MANAGER, Xatom.STRING).value == b"shown"
    assert own.window.get_full_property(Xatom.CUT_BUFFER0, Xatom.STRING).value == b"pasted"


def test_a_trusted_guest_is_as_the_desktop_s_own(own: Client, door: Callable[[bool], None]) -> None:
    door(True)
    guest = Client(DOOR, 200, 0x00FF00)
    assert guest.display.query_extension("XTEST")
    assert pixel(guest.foreign(own)) == b"\x00\x00\xff"
    guest.display.close()


def test_the_door_is_open_again_when_the_x_server_is(own: Client, guest: Client, xserver: XServer) -> None:
    number = xserver.name
    for client in (own, guest):
        client.display.close()
    xserver.kill()
    assert is_shown_out(b"l\0\x0b\0" + bytes(8))
    xserver.start(number)
    again = Client(DOOR, 0, 0)
    assert again.display.query_extension("XTEST") is None
    again.display.close()


def test_who_speaks_something_else_is_shown_out(guest: Client) -> None:
    assert is_shown(guest, guest)
    assert is_shown_out(b"GET / HTTP/1.1\r\n\r\n")


@pytest.mark.skipif(shutil.which("xterm") is None, reason="xterm is not installed here")
def test_a_program_of_the_distribution_runs(guest: Client, own: Client) -> None:
    environment = os.environ | {"DISPLAY": f"unix:/tmp/.X11-unix/X{DOOR[1:]}"}
    program = subprocess.Popen(["xterm", "-e", "cat"], env=environment, stderr=subprocess.DEVNULL)
    try:
        known = {own.window.id, guest.window.id}
        until(lambda: {window.id for window in own.root.query_tree().children} - known)
    finally:
        program.terminate()
        program.wait(PATIENCE_SECONDS)


def test_a_guest_that_wants_to_outlive_its_connection_keeps_no_place_in_the_server(own: Client, guest: Client) -> None:
    for _ in range(300):
        stranger = xlib.Display(f"unix/{DOOR}")
        stranger.set_close_down_mode(X.RetainPermanent)
        stranger.screen().root.create_window(0, 0, 9, 9, 0, 24)
        stranger.sync()
        stranger.close()
    late = Client(own.display.get_display_name().removeprefix("unix/"), 300, 0)
    assert is_shown(own, late)
    late.display.close()


def test_a_guest_s_pointer_is_not_larger_than_a_picture_of_the_screen_can_bear(own: Client, guest: Client) -> None:
    large = guest.root.create_pixmap(8192, 8192, 1)
    pointer = large.create_cursor(large, (0, 0, 0), (0, 0, 0), 0, 0)
    guest.window.change_attributes(cursor=pointer)
    guest.display.sync()
    own.root.warp_pointer(250, 50)
    own.display.xfixes_query_version()
    found = own.display.xfixes_get_cursor_image(own.root)
    assert max(found.width, found.height) <= MAX_CURSOR < 1000


def test_a_guest_changes_no_settings_of_the_server(own: Client, guest: Client) -> None:
    before = own.display.get_keyboard_control().led_mask, own.display.get_keyboard_mapping(A_KEY, 1)[0][0], own.display.get_font_path()
    guest.display.change_keyboard_mapping(A_KEY, [(0x41,)])
    guest.display.change_keyboard_control(led=1, led_mode=1)
    guest.display.set_font_path([])
    guest.display.set_access_control(0)
    guest.display.set_screen_saver(1, 1, 1, 1)
    guest.display.sync()
    mappings: list[Callable[[Any], object]] = [
        lambda display: display.set_pointer_mapping([3, 2, 1]),
        lambda display: display.set_modifier_mapping([[A_KEY]] * 8),
    ]
    for act in mappings:
        stranger = xlib.Display(f"unix/{DOOR}")
        with closing(stranger.display.socket), suppress(XError, AttributeError):  # Xlib does not know every extension's errors
            act(stranger)
    after = own.display.get_keyboard_control().led_mask, own.display.get_keyboard_mapping(A_KEY, 1)[0][0], own.display.get_font_path()
    assert after == before
    assert list(own.display.get_pointer_mapping())[:3] == [1, 2, 3]
    assert not any(A_KEY in codes for codes in list(own.display.get_modifier_mapping())[1:])


def test_what_is_no_request_harms_nobody_else(own: Client, guest: Client) -> None:
    random = Random(7)
    for _ in range(60):
        with socket.socket(socket.AF_UNIX) as stranger, suppress(OSError):
            stranger.settimeout(5)
            stranger.connect(f"/tmp/.X11-unix/X{DOOR[1:]}")
            stranger.sendall(b"l\0\x0b\0" + bytes(8))
            stranger.recv(1 << 16)
            for _ in range(50):
                body = random.randbytes(4 * random.randrange(1, 16))
                stranger.sendall(struct.pack("<BBH", random.randrange(1, 256), random.randrange(256), 1 + len(body) // 4) + body)
            stranger.sendall(bytes(4))
            while stranger.recv(1 << 16):
                pass
    late = Client(own.display.get_display_name().removeprefix("unix/"), 300, 0)
    assert is_shown(own, late)
    assert is_shown(own, guest)
    late.display.close()
