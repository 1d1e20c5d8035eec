"""The clipboard: read, write, and lend to a paste, after which its content is restored."""

import asyncio
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from types import TracebackType
from typing import Any, Self

from sandbox_server.drivers.x11.clipboard_selection import Contents, Selection
from sandbox_server.drivers.x11.connection import Display, X11Connection

TEXT, HTML, PNG = "text/plain", "text/html", "image/png"
"""Media types that a person's computer and the desktop share."""

_TEXT_TARGETS = ("UTF8_STRING", "text/plain;charset=utf-8", "text/plain", "TEXT")
_UTF_8 = b'<meta http-equiv="content-type" content="text/html; charset=utf-8">'
"""A prefix for HTML, as browsers on X11 write it. Without it LibreOffice and GTK guess the charset."""
_UTF_16 = (b"\xff\xfe", b"\xfe\xff")


class Loan:
    """A text that is on the clipboard for a paste."""

    def __init__(self) -> None:
        self._served = asyncio.Event()

    def serve(self) -> None:
        """Note that the focused program has read it."""
        self._served.set()

    async def served(self, timeout: float) -> bool:
        """Wait until the focused program has read all of it. Return False after `timeout` seconds."""
        try:
            async with asyncio.timeout(timeout):
                return await self._served.wait()
        except TimeoutError:
            return False


class X11Clipboard:
    """The CLIPBOARD selection of the display `name`."""

    def __init__(self, name: str) -> None:
        self._connection = X11Connection(name, opened=self._opened, event=self._on_event)
        self._selection: Selection | None = None
        self._loan: Loan | None = None
        self._loop: asyncio.AbstractEventLoop | None = None

    async def __aenter__(self) -> Self:
        self._loop = asyncio.get_running_loop()
        await self._connection.__aenter__()
        return self

    async def __aexit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        await self._connection.__aexit__(kind, error, trace)

    async def read(self) -> str:
        """Return its text; empty if there is none."""
        return (await self.forms(TEXT)).get(TEXT, b"").decode()

    async def forms(self, *wanted: str) -> dict[str, bytes]:
        """Return its content by media type: TEXT and HTML in UTF-8, and PNG; all of them or those in `wanted`."""
        targets = [target for form in wanted or (TEXT, HTML, PNG) for target in (_TEXT_TARGETS if form == TEXT else (form,))]
        contents = await self._connection.call(lambda _: self._current().read(targets))
        text = next((contents[target] for target in _TEXT_TARGETS if target in contents), None)
        found = {TEXT: text and text.decode("utf-8", "replace").encode(), HTML: _html(contents.get(HTML)), PNG: contents.get(PNG)}
        return {form: value for form, value in found.items() if value and (not wanted or form in wanted)}

    async def write(self, text: str) -> None:
        """Set its text."""
        await self._own(_forms(text))

    async def put(self, forms: Mapping[str, bytes]) -> None:
        """Set its content by media type: TEXT and HTML in UTF-8, and PNG."""
        text = _forms(forms[TEXT].decode()) if TEXT in forms else {}
        html = {HTML: _UTF_8 + forms[HTML]} if HTML in forms else {}
        await self._own({**html, **{form: forms[form] for form in forms if form == PNG}, **text})

    @asynccontextmanager
    async def lend(self, text: str) -> AsyncIterator[Loan]:
        """Put a text on the clipboard, and at the end restore its content in all its forms."""
        before = await self._contents()
        self._loan = Loan()
        try:
            await self._own(_forms(text))
            yield self._loan
        finally:
            self._loan = None
            await self._own(before)

    async def _contents(self) -> Contents:
        return await self._connection.call(lambda _: self._current().read())

    async def _own(self, contents: Contents) -> None:
        await self._connection.call(lambda _: self._current().own(contents))

    def _current(self) -> Selection:
        assert self._selection is not None, "it is made with the connection"
        return self._selection

    def _opened(self, display: Display) -> None:
        self._selection = Selection(display, self._on_served)

    def _on_event(self, _: Display, arrived: Any) -> None:
        self._current().take(arrived)

    def _on_served(self, _: str) -> None:
        if self._loop and self._loan:
            self._loop.call_soon_threadsafe(self._loan.serve)


def _forms(text: str) -> Contents:
    encoded = text.encode("utf-8", "surrogatepass")
    return dict.fromkeys(_TEXT_TARGETS, encoded) | ({"STRING": text.encode("latin-1")} if _is_latin(text) else {})


def _html(value: bytes | None) -> bytes:
    """Return HTML in UTF-8 without a charset declaration. Firefox writes it in UTF-16."""
    found = value or b""
    text = found.decode("utf-16" if found.startswith(_UTF_16) else "utf-8", "replace")
    return text.rstrip("\0").encode().removeprefix(_UTF_8)


def _is_latin(text: str) -> bool:
    return all(ord(character) < 256 for character in text)
