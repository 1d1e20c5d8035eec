"""A real X server, and a real program on it that writes down what it gets."""

import os
import subprocess
import threading
from collections.abc import AsyncIterator, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import pytest
from Xlib import X, Xatom
from Xlib import display as xlib
from Xlib.error import ConnectionClosedError

from sandbox_server.boot import window_manager as window_manager_start
from sandbox_server.drivers.x11 import clipboard_selection, connection
from sandbox_server.drivers.x11.desktop import Desktop
from sandbox_server.drivers.x11.keysyms import UNICODE
from tests.patience import PATIENCE_SECONDS, until

_SHIFT = X.ShiftMask
_NAMED = {0xFF0D: "\n", 0xFF09: "\t"}


class XServer:
    """Xvfb with room for 3840x2160 pixels."""

    def __init__(self) -> None:
        self.process: subprocess.Popen[bytes] | None = None
        self.name = ""

    def start(self, number: str = "") -> None:
        """Start it and wait until it answers; without a number it finds a free one."""
        readable, writable = os.pipe()
        argv = ["Xvfb", *([number] if number else []), "-displayfd", str(writable), "-screen", "0", "3840x2160x24"]
        argv += ["-nolisten", "tcp", "-noreset", "-extension", "GLX"]  # its abstract socket keeps another server off its number
        self.process = subprocess.Popen(argv, pass_fds=[writable], stderr=subprocess.DEVNULL)
        os.close(writable)
        with open(readable, encoding="ascii") as said:
            self.name = f":{said.readline().strip()}"

    def kill(self) -> None:
        """End it at once."""
        if self.process:
            self.process.kill()
            self.process.wait(PATIENCE_SECONDS)
            self.process = None


@pytest.fixture
def xserver(monkeypatch: pytest.MonkeyPatch) -> Iterator[XServer]:
    """A running X server that nobody needs a cookie for."""
    monkeypatch.setenv("XAUTHORITY", "/nonexistent")
    monkeypatch.setattr(connection, "CALL_SECONDS", 60.0)
    monkeypatch.setattr(clipboard_selection, "ANSWER_SECONDS", 30.0)
    os.makedirs("/tmp/.X11-unix", exist_ok=True)
    os.chmod("/tmp/.X11-unix", 0o1777)
    server = XServer()
    server.start()
    yield server
    server.kill()


@pytest.fixture
async def desktop(xserver: XServer) -> AsyncIterator[Desktop]:
    """The desktop under test."""
    async with Desktop(xserver.name) as opened:
        yield opened


@contextmanager
def managing(xserver: XServer, *options: str) -> Iterator[subprocess.Popen[bytes]]:
    """openbox, once it manages the windows."""
    environ = os.environ | {"DISPLAY": xserver.name}
    process = subprocess.Popen(["openbox", "--sm-disable", *options], env=environ, stderr=subprocess.DEVNULL)
    display = xlib.Display(xserver.name)
    try:
        supported = display.intern_atom("_NET_SUPPORTING_WM_CHECK")
        until(lambda: display.screen().root.get_full_property(supported, X.AnyPropertyType))
        until(lambda: _shows_windows(display))
        yield process
    finally:
        process.terminate()
        process.wait(PATIENCE_SECONDS)
        with suppress(ConnectionClosedError):  # the test ended the server
            display.close()


@pytest.fixture
def window_manager(xserver: XServer) -> Iterator[None]:
    """openbox as it is by itself."""
    with managing(xserver):
        yield


@pytest.fixture
def desktop_manager(xserver: XServer) -> Iterator[subprocess.Popen[bytes]]:
    """openbox as the desktop starts it: ordinary windows fill the screen."""
    with managing(xserver, "--config-file", str(Path(window_manager_start.__file__).with_name("openbox.xml"))) as process:
        yield process


def _shows_windows(display: xlib.Display) -> bool:
    """Whether the window manager shows a new window. It has said that it is there before it does: what comes in between stays hidden."""
    screen = display.screen()
    window = screen.root.create_window(0, 0, 10, 10, 0, screen.root_depth)
    window.map()
    display.sync()
    for _ in range(20):  # round trips, in which a window manager that listens has its turn
        if window.get_attributes().map_state == X.IsViewable:
            break
    shown: bool = window.get_attributes().map_state == X.IsViewable
    window.destroy()
    display.sync()
    return shown


class Program:
    """A program with one window: looks keysyms up as programs do, pastes on control and V, and notes what happens."""

    def __init__(self, name: str, *, pastes: bool = True, kind: str = "Program") -> None:
        self.events: list[tuple[Any, ...]] = []
        self.pressed_at: list[int] = []
        """The X server's milliseconds of each button's press."""
        self.text = ""
        self._pastes = pastes
        self._display = xlib.Display(name)
        screen = self._display.screen()
        mask = X.KeyPressMask | X.KeyReleaseMask | X.ButtonPressMask | X.ButtonReleaseMask | X.PointerMotionMask | X.PropertyChangeMask
        self.window = screen.root.create_window(0, 0, 600, 400, 0, screen.root_depth, event_mask=mask, background_pixel=screen.white_pixel)
        self.window.set_wm_class(kind.lower(), kind)
        self.window.map()
        self._display.sync()
        self._buffer = bytearray()
        self._in_pieces = False
        self._closed = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)

    def start(self) -> None:
        """Take the focus and begin."""
        self.window.set_input_focus(X.RevertToParent, X.CurrentTime)
        self._display.sync()
        self._thread.start()

    def kinds(self) -> list[str]:
        """What happened, in one word each, without the moves."""
        return [event[0] for event in self.events if event[0] != "move"]

    def close(self) -> None:
        """End the program's connection, and with it its thread."""
        if self._closed.is_set():
            return
        self._closed.set()
        self._display.display.socket.shutdown(2)
        if self._thread.is_alive():
            self._thread.join(PATIENCE_SECONDS)
        self._display.display.socket.close()

    def _run(self) -> None:
        while not self._closed.is_set():
            try:
                self._take(self._display.next_event())
            except ConnectionClosedError:
                return

    def _take(self, event: Any) -> None:
        if event.type == X.MappingNotify:
            self._display.refresh_keyboard_mapping(event)
        elif event.type == X.KeyPress:
            self._key(event)
        elif event.type == X.KeyRelease:
            self.events.append(("up", self._display.keycode_to_keysym(event.detail, 0)))
        elif event.type in (X.ButtonPress, X.ButtonRelease):
            self.pressed_at += [event.time] if event.type == X.ButtonPress else []
            self.events.append(("press" if event.type == X.ButtonPress else "release", event.detail, event.root_x, event.root_y))
        elif event.type == X.MotionNotify:
            self.events.append(("move", event.root_x, event.root_y))
        elif event.type == X.SelectionNotify and event.property:
            self._pasted()
        elif event.type == X.PropertyNotify and event.state == X.PropertyNewValue:
            self._piece(event)

    def _key(self, event: Any) -> None:
        keysym = self._display.keycode_to_keysym(event.detail, 1 if event.state & _SHIFT else 0)
        self.events.append(("down", keysym, event.state & (X.ShiftMask | X.ControlMask)))
        if event.state & X.ControlMask:
            if self._pastes and keysym == ord("v"):
                self._ask()
        elif keysym in _NAMED:
            self.text += _NAMED[keysym]
        elif 0x20 <= keysym <= 0xFF or keysym >= UNICODE:
            self.text += chr(keysym & 0xFFFFFF)

    def _ask(self) -> None:
        self.window.convert_selection(
            self._display.intern_atom("CLIPBOARD"), self._display.intern_atom("UTF8_STRING"), Xatom.CUT_BUFFER0, X.CurrentTime
        )

    def _pasted(self) -> None:
        found = self.window.get_full_property(Xatom.CUT_BUFFER0, X.AnyPropertyType)
        self.window.delete_property(Xatom.CUT_BUFFER0)
        self._in_pieces = found.property_type == self._display.intern_atom("INCR")
        if not self._in_pieces:
            self.text += found.value.decode()

    def _piece(self, event: Any) -> None:
        if event.atom != Xatom.CUT_BUFFER0 or not self._in_pieces:
            return
        found = self.window.get_full_property(Xatom.CUT_BUFFER0, X.AnyPropertyType)
        self.window.delete_property(Xatom.CUT_BUFFER0)
        if found and found.value:
            self._buffer += found.value
        else:
            self.text, self._buffer, self._in_pieces = self.text + self._buffer.decode(), bytearray(), False


@pytest.fixture
def program(xserver: XServer) -> Iterator[Program]:
    """A program that pastes, with the focus."""
    running = Program(xserver.name)
    running.start()
    yield running
    running.close()
