"""One end of the clipboard offers what it has, and refuses what it has not."""

import asyncio
import threading
from collections.abc import Callable
from contextlib import suppress
from typing import Any

import pytest
from Xlib import X, Xatom
from Xlib import display as xlib
from Xlib.error import ConnectionClosedError
from Xlib.protocol import event

from sandbox_server.drivers.x11 import clipboard_selection
from sandbox_server.drivers.x11.clipboard import X11Clipboard
from sandbox_server.drivers.x11.desktop import Desktop
from tests.drivers.x11.conftest import XServer
from tests.patience import PATIENCE_SECONDS

pytestmark = pytest.mark.anyio


async def test_every_form_is_carried_over(desktop: Desktop, xserver: XServer) -> None:
    contents = {"UTF8_STRING": b"text", "text/html": b"<b>text</b>", "image/png": bytes(range(256)) * 2000}
    async with X11Clipboard(xserver.name) as other:
        await other._own(contents)
        assert await desktop.clipboard._contents() == contents


async def test_an_owner_that_goes_takes_the_clipboard_with_it(desktop: Desktop, xserver: XServer) -> None:
    async with X11Clipboard(xserver.name) as other:
        await other.write("text")
        assert await desktop.clipboard.read() == "text"
    assert await desktop.clipboard.read() == ""


class Owner:
    """A program that owns the clipboard, and answers what it is asked in a way of its own."""

    def __init__(self, name: str, answer: Callable[[Any, Any], None]) -> None:
        self._display = xlib.Display(f"unix/{name}")
        self._display.set_error_handler(lambda *_: None)
        self._answer = answer
        self._window = self._display.screen().root.create_window(0, 0, 1, 1, 0, X.CopyFromParent)
        self._window.set_selection_owner(self._display.intern_atom("CLIPBOARD"), X.CurrentTime)
        self._display.sync()
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    def _run(self) -> None:
        with suppress(ConnectionClosedError):
            while True:
                asked = self._display.next_event()
                if asked.type == X.SelectionRequest:
                    self._answer(self._display, asked)
                    told = event.SelectionNotify(
                        time=asked.time, requestor=asked.requestor, selection=asked.selection, target=asked.target, property=asked.property
                    )
                    asked.requestor.send_event(told)
                    self._display.flush()

    def close(self) -> None:
        self._display.display.socket.shutdown(2)
        self._thread.join(PATIENCE_SECONDS)
        self._display.display.socket.close()


def with_half_a_number(_: Any, asked: Any) -> None:
    asked.requestor.change_property(asked.property, Xatom.ATOM, 8, b"abc")


def with_names_that_are_none(_: Any, asked: Any) -> None:
    asked.requestor.change_property(asked.property, Xatom.ATOM, 32, [0xDEADBEEF, 0] * 20_000)


def with_pieces_that_never_end(display: Any, asked: Any) -> None:
    asked.requestor.change_property(asked.property, display.intern_atom("INCR"), 32, [0])


def with_more_than_is_kept(display: Any, asked: Any) -> None:
    if asked.target == display.intern_atom("TARGETS"):
        asked.requestor.change_property(asked.property, Xatom.ATOM, 32, [display.intern_atom("UTF8_STRING")])
        return
    for _ in range(6):
        asked.requestor.change_property(asked.property, Xatom.STRING, 8, b"x" * 200_000, mode=X.PropModeAppend)


@pytest.mark.parametrize("answer", [with_half_a_number, with_names_that_are_none, with_pieces_that_never_end, with_more_than_is_kept])
async def test_an_owner_that_does_its_worst_gives_nothing_and_the_clipboard_goes_on(
    desktop: Desktop, xserver: XServer, answer: Callable[[Any, Any], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(clipboard_selection, "ANSWER_SECONDS", 0.5)
    monkeypatch.setattr(clipboard_selection, "READ_SECONDS", 2.0)
    monkeypatch.setattr(clipboard_selection, "MAX_BYTES", 1_000_000)
    owner = Owner(xserver.name, answer)
    try:
        async with asyncio.timeout(20):
            assert await desktop.clipboard.forms() == {}
            await desktop.clipboard.write("mine")
            assert await desktop.clipboard.read() == "mine"
    finally:
        owner.close()
