"""The clipboard carries what was put on it, of any size, and is given back after a paste."""

from collections.abc import AsyncIterator

import pytest

from sandbox_server.drivers.x11.clipboard import HTML, PNG, TEXT, X11Clipboard
from sandbox_server.drivers.x11.clipboard_selection import PIECE_BYTES
from sandbox_server.drivers.x11.desktop import Desktop
from tests.drivers.x11.conftest import XServer

pytestmark = pytest.mark.anyio

LONG = "長い文 long طويل\n" * 40_000


@pytest.fixture
async def other(xserver: XServer) -> AsyncIterator[X11Clipboard]:
    """The clipboard as another program sees it."""
    async with X11Clipboard(xserver.name) as opened:
        yield opened


async def test_an_empty_clipboard_reads_as_nothing(desktop: Desktop) -> None:
    assert await desktop.clipboard.read() == ""


@pytest.mark.parametrize("text", ["plain", "é 世界 🙂 שלום", LONG], ids=["ascii", "unicode", "long"])
async def test_another_program_reads_what_was_put_on_it(desktop: Desktop, other: X11Clipboard, text: str) -> None:
    await desktop.clipboard.write(text)
    assert await other.read() == text
    assert len(LONG.encode()) > 3 * PIECE_BYTES


async def test_the_last_who_wrote_owns_it(desktop: Desktop, other: X11Clipboard) -> None:
    await desktop.clipboard.write("first")
    await other.write("second")
    assert (await desktop.clipboard.read(), await other.read()) == ("second", "second")


@pytest.mark.parametrize("before", ["", "the person's", LONG], ids=["empty", "short", "long"])
async def test_what_was_there_is_there_again_after_a_loan(desktop: Desktop, other: X11Clipboard, before: str) -> None:
    if before:
        await other.write(before)
    async with desktop.clipboard.lend("lent"):
        assert await other.read() == "lent"
    assert await other.read() == before


async def test_a_program_without_the_focus_that_looks_does_not_count_as_the_paste(desktop: Desktop, other: X11Clipboard) -> None:
    async with desktop.clipboard.lend("lent") as loan:
        await other.read()
        assert not await loan.served(0.1)


async def test_text_html_and_a_picture_are_carried_together(desktop: Desktop, other: X11Clipboard) -> None:
    forms = {TEXT: "é 世界".encode(), HTML: "<b>é 世界</b>".encode(), PNG: b"\x89PNG\r\n\x1a\n" + bytes(PIECE_BYTES)}
    await other.put(forms)
    assert await desktop.clipboard.forms() == forms
    assert await desktop.clipboard.forms(HTML) == {HTML: forms[HTML]}
    assert await desktop.clipboard.read() == "é 世界"


async def test_a_picture_alone_has_no_text(desktop: Desktop, other: X11Clipboard) -> None:
    await other.put({PNG: b"\x89PNG"})
    assert (await desktop.clipboard.read(), await desktop.clipboard.forms()) == ("", {PNG: b"\x89PNG"})
