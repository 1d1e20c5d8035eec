"""Truncates a receipt to what an agent reads in passing."""

import json
from typing import Any

from sandbox_server.core.receipt import Receipt, TabChange

MAX_BYTES = 2000
MAX_ENTRY = 160
MAX_NOTE = 300
MAX_OMITTED = 999_999_999
"""As long as the number that takes its place can be."""

_LISTS = ("files", "commands", "downloads", "fields", "tabs", "windows_opened", "windows_closed")


def truncated(receipt: Receipt) -> Receipt:
    """The receipt in at most MAX_BYTES of JSON: entries are cut, then those of the longest lists left out; `omitted` says how many."""
    lists: dict[str, list[Any]] = {name: [_cut(entry) for entry in getattr(receipt, name)] for name in _LISTS}
    sizes = {name: list(map(_size, entries)) for name, entries in lists.items()}
    totals = {name: sum(each) for name, each in sizes.items()}
    bare = receipt.model_copy(update={**{name: [] for name in _LISTS}, "note": receipt.note[:MAX_NOTE], "omitted": MAX_OMITTED})
    room, omitted = MAX_BYTES - len(bare.model_dump_json().encode()), 0
    while sum(totals.values()) > room and any(sizes.values()):
        longest = max(totals, key=totals.__getitem__)
        totals[longest] -= sizes[longest].pop()
        omitted += 1
    kept = {name: entries[: len(sizes[name])] for name, entries in lists.items()}
    return bare.model_copy(update={**kept, "omitted": receipt.omitted + omitted})


def _size(entry: str | TabChange) -> int:
    """Bytes of JSON, with the comma."""
    return len(json.dumps(entry, ensure_ascii=False).encode() if isinstance(entry, str) else entry.model_dump_json().encode()) + 1


def _cut(entry: str | TabChange) -> str | TabChange:
    if isinstance(entry, str):
        return _text(entry)
    return entry.model_copy(update={"was": entry.was and _text(entry.was), "now": entry.now and _text(entry.now)})


def _text(text: str) -> str:
    return text if len(text) <= MAX_ENTRY else f"{text[: MAX_ENTRY - 1]}…"
