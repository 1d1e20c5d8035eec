"""What differs between two states of the box, as one level of a tree: each name of a directory with what is different below it."""

from collections.abc import Iterable
from dataclasses import dataclass

from sandbox_server.drivers.box.layer_diff import LayerDifference

MAX_ENTRIES = 1000
"""Names in one answer."""


@dataclass(slots=True)
class TreeEntry:
    """One name: what differs at it or below it, with the bytes of all that together before and after."""

    name: str
    change: str | None = None
    """What happened to itself; None where only what is below it differs."""
    added: int = 0
    changed: int = 0
    deleted: int = 0
    before: int = 0
    after: int = 0

    def count(self, difference: LayerDifference) -> None:
        """Take one difference in."""
        setattr(self, difference.change, getattr(self, difference.change) + 1)
        self.before += difference.before or 0
        self.after += difference.after or 0


def level(differences: Iterable[LayerDifference], under: str) -> list[TreeEntry]:
    """Gather what differs below a directory by the names in it, in their order."""
    top = "/" if under in ("", "/") else f"/{under.strip('/')}/"
    found: dict[str, TreeEntry] = {}
    for one in differences:
        if not one.path.startswith(top):
            continue
        name, _, below = one.path[len(top) :].partition("/")
        entry = found.setdefault(name, TreeEntry(name))
        if not below:
            entry.change = one.change
        entry.count(one)
    return [found[name] for name in sorted(found)]


def page(entries: list[TreeEntry], after: str, limit: int) -> tuple[list[TreeEntry], bool]:
    """Give the entries behind the name `after`, and whether there are more."""
    rest = [entry for entry in entries if entry.name > after]
    most = max(1, min(limit, MAX_ENTRIES))
    return rest[:most], len(rest) > most
