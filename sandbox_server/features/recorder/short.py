"""A receipt that fits into what an agent reads in passing."""

from sandbox_server.core.receipt import Receipt

MAX_BYTES = 2000
MAX_ENTRY = 160
MAX_NOTE = 300

_LISTS = ("files", "commands", "downloads", "fields", "tabs", "windows_opened", "windows_closed")


def short(receipt: Receipt) -> Receipt:
    """The receipt in at most MAX_BYTES of JSON: entries are cut, then those of the longest lists left out; `omitted` says how many."""
    lists = {name: list(getattr(receipt, name)) for name in _LISTS}
    cut = {name: [_cut(entry) if isinstance(entry, str) else entry for entry in entries] for name, entries in lists.items()}
    cut["tabs"] = [tab.model_copy(update={"was": _cut(tab.was), "now": _cut(tab.now)}) for tab in receipt.tabs]
    made = receipt.model_copy(update={**cut, "note": receipt.note[:MAX_NOTE]})
    while len(made.model_dump_json().encode()) > MAX_BYTES and any(cut.values()):
        longest = max(cut.values(), key=lambda entries: sum(len(str(entry)) for entry in entries))
        longest.pop()
        made = made.model_copy(update={**cut, "omitted": made.omitted + 1})
    return made


def _cut(text: str | None) -> str | None:
    return text if text is None or len(text) <= MAX_ENTRY else f"{text[: MAX_ENTRY - 1]}…"
