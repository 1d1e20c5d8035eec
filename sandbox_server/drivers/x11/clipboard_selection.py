"""The CLIPBOARD selection protocol (ICCCM 2.0, section 2), with incremental transfers of large contents (2.7.2).

Everything here runs on the connection's thread.
"""

import select
import time
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from typing import Any

from Xlib import X, Xatom, error
from Xlib.protocol import event, request

from sandbox_server.drivers.x11.connection import Display

PIECE_BYTES = 128 * 1024
"""Bytes sent at once. The X server accepts at least 256 KiB in one request."""
MAX_BYTES = 32 * 1024 * 1024
"""Limit in bytes of what is read from another owner, all its targets together."""
MAX_TARGETS = 16
MAX_ATOMS = 256
"""Limit of targets that an owner may name."""
MAX_TRANSFERS = 64
"""Limit of concurrent incremental transfers. At the limit the oldest is aborted."""
ANSWER_SECONDS = 2.0
"""Seconds that the owner of the clipboard may take for each piece."""
READ_SECONDS = 6.0
"""Seconds for reading everything. Later targets are left out."""

_PROPERTY = "_TANDEM_CLIPBOARD"
_ABOUT = frozenset({"TARGETS", "MULTIPLE", "TIMESTAMP", "SAVE_TARGETS", "DELETE"})
"""Targets that are about the clipboard, not its content."""

type Contents = Mapping[str, bytes]
"""The content of the clipboard by target."""


@dataclass(slots=True)
class _Transfer:
    """An incremental transfer to one property of one window."""

    kind: int
    left: memoryview


class Selection:
    """This server's end of the CLIPBOARD on one connection.

    `served` is called with each target that a window of the focused program has received.
    """

    def __init__(self, display: Display, served: Callable[[str], None]) -> None:
        self._display = display
        self._served = served
        self._contents: Contents = {}
        self._transfers: dict[tuple[int, int], _Transfer] = {}
        self._until = 0.0
        self._clipboard = display.intern_atom("CLIPBOARD")
        self._incremental = display.intern_atom("INCR")
        self._property = display.intern_atom(_PROPERTY)
        self._window = display.screen().root.create_window(0, 0, 1, 1, 0, X.CopyFromParent, event_mask=X.PropertyChangeMask)

    def own(self, contents: Contents) -> None:
        """Become the owner with this content. An empty content clears nothing."""
        self._contents = contents
        owner = self._window if contents else X.NONE
        request.SetSelectionOwner(display=self._display.display, window=owner, selection=self._clipboard, time=X.CurrentTime)
        self._display.sync()

    def read(self, wanted: Collection[str] = ()) -> Contents:
        """Return the content, as far as its owner and MAX_BYTES allow; only the targets in `wanted`, if given."""
        if self._contents:
            return {target: value for target, value in self._contents.items() if not wanted or target in wanted}
        owner = self._display.get_selection_owner(self._clipboard)
        if owner == X.NONE:
            return {}
        found: dict[str, bytes] = {}
        self._until = time.monotonic() + READ_SECONDS
        for target in [each for each in self._targets() if not wanted or each in wanted][:MAX_TARGETS]:
            value = self._fetch(target)
            if value is not None and sum(map(len, found.values())) + len(value) <= MAX_BYTES:
                found[target] = value
        return found

    def take(self, arrived: Any) -> None:
        """Handle an event."""
        if arrived.type == X.SelectionRequest:
            self._answer(arrived)
        elif arrived.type == X.SelectionClear:
            self._contents = {}
        elif arrived.type == X.PropertyNotify and arrived.state == X.PropertyDelete:
            self._continue(arrived.window, arrived.atom)

    def _targets(self) -> list[str]:
        value = (self._fetch("TARGETS") or b"")[: MAX_ATOMS * 4]
        atoms = memoryview(value[: len(value) // 4 * 4]).cast("I")
        return [name for atom in atoms if (name := self._name(atom)) and name not in _ABOUT]

    def _name(self, atom: int) -> str:
        """Return the name of an atom; empty if the owner has invented it."""
        try:
            return str(self._display.get_atom_name(atom))
        except error.BadAtom:
            return ""

    def _fetch(self, target: str) -> bytes | None:
        self._window.convert_selection(self._clipboard, self._display.intern_atom(target), self._property, X.CurrentTime)
        answer = self._wait(lambda seen: seen.type == X.SelectionNotify and seen.requestor.id == self._window.id)
        if answer is None or answer.property == X.NONE:
            return None
        found = self._take_property()
        return self._pieces() if found is None else found

    def _take_property(self) -> bytes | None:
        """Return the value of our property and delete it; None if it comes in pieces."""
        found = self._window.get_property(self._property, X.AnyPropertyType, 0, MAX_BYTES // 4)
        self._window.delete_property(self._property)
        if found is None:
            return b""
        if found.property_type == self._incremental:
            return None
        value: bytes = found.value if isinstance(found.value, bytes) else found.value.tobytes()
        return value if not found.bytes_after else None

    def _pieces(self) -> bytes | None:
        collected = bytearray()
        while self._wait(lambda seen: seen.type == X.PropertyNotify and seen.state == X.PropertyNewValue and seen.atom == self._property):
            piece = self._take_property()
            if not piece:
                return bytes(collected)
            collected += piece
            if len(collected) > MAX_BYTES:
                return None
        return None

    def _wait(self, wanted: Callable[[Any], bool]) -> Any:
        """Return the first wanted event, or None; others are handled."""
        deadline = min(time.monotonic() + ANSWER_SECONDS, self._until)
        self._display.flush()
        while (left := deadline - time.monotonic()) > 0:
            if not self._display.pending_events():
                select.select([self._display.display.socket], [], [], left)
                continue
            seen = self._display.next_event()
            if wanted(seen):
                return seen
            self.take(seen)
        return None

    def _answer(self, asked: Any) -> None:
        name = self._display.get_atom_name(asked.target)
        into = asked.property or asked.target
        done = self._give(asked.requestor, into, name)
        notice = event.SelectionNotify(
            time=asked.time, requestor=asked.requestor, selection=asked.selection, target=asked.target, property=into if done else X.NONE
        )
        asked.requestor.send_event(notice)
        self._display.flush()
        if done and name not in _ABOUT and (asked.requestor.id, into) not in self._transfers and self._is_focused(asked.requestor):
            self._served(name)

    def _give(self, window: Any, into: int, name: str) -> bool:
        """Write the requested content to the property, or begin to. Return whether the target exists."""
        if name == "TARGETS":
            offered = [self._display.intern_atom(target) for target in ("TARGETS", *self._contents)]
            window.change_property(into, Xatom.ATOM, 32, offered)
            return True
        if name not in self._contents:
            return False
        value, kind = self._contents[name], self._display.intern_atom(name)
        if len(value) <= PIECE_BYTES:
            window.change_property(into, kind, 8, value)
            return True
        window.change_attributes(event_mask=X.PropertyChangeMask)
        window.change_property(into, self._incremental, 32, [len(value)])
        self._transfers[window.id, into] = _Transfer(kind, memoryview(value))
        if len(self._transfers) > MAX_TRANSFERS:
            del self._transfers[next(iter(self._transfers))]
        return True

    def _continue(self, window: Any, into: int) -> None:
        transfer = self._transfers.get((window.id, into))
        if transfer is None:
            return
        piece, transfer.left = transfer.left[:PIECE_BYTES], transfer.left[PIECE_BYTES:]
        window.change_property(into, transfer.kind, 8, bytes(piece))
        self._display.flush()
        if not piece:
            del self._transfers[window.id, into]
            if self._is_focused(window):
                self._served(self._display.get_atom_name(transfer.kind))

    def _is_focused(self, window: Any) -> bool:
        """Whether a window belongs to the focused program: window ids of one client differ only in the low bits."""
        try:
            focus = self._display.get_input_focus().focus
        except error.XError:
            return False
        mask = self._display.display.info.resource_id_mask
        return not isinstance(focus, int) and focus.id & ~mask == window.id & ~mask
