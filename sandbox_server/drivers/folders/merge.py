"""What becomes of a folder that changed in two places, by the version that both began with. No file is lost.

| here, since then | in the store, since then | becomes |
|---|---|---|
| as it was | changed, added or removed | as in the store |
| changed, added or removed | as it was | as here |
| changed | removed | as here |
| removed | changed | as in the store |
| changed | changed otherwise | as here; the store's goes beside it under another name |
"""

from collections.abc import Mapping
from dataclasses import dataclass, field

from sandbox_server.drivers.folders.version import FileRecord, Files


@dataclass(slots=True)
class Merge:
    """What comes out: the files, and what is to do here so that there are no others."""

    files: dict[str, FileRecord] = field(default_factory=dict)
    written: dict[str, FileRecord] = field(default_factory=dict)
    """Files to write here."""
    removed: list[str] = field(default_factory=list)
    """Files to remove here."""
    unsettled: list[str] = field(default_factory=list)
    """Files that could not be sent."""
    conflicts: dict[str, str] = field(default_factory=dict)
    """The names under which the store's files are kept, by their own paths."""


def merge(base: Files, here: Files, store: Files, number: int, *, removals: bool) -> Merge:
    """Merge. `number` is that of the store's version. Without `removals`, what is missing here was never removed here."""
    merged = Merge()
    beside: dict[str, FileRecord] = {}
    for path in sorted({*here, *store}):
        mine, theirs, before = here.get(path), store.get(path), base.get(path)
        if not removals and mine is None:
            before = None
        if mine == theirs or theirs == before:
            _keep(merged, path, mine)
        elif mine in (before, None):
            _take(merged, path, theirs)
        elif theirs is None:
            _keep(merged, path, mine)
        else:
            _keep(merged, path, mine)
            beside[path] = theirs
    _untangle(merged, here, beside)
    for path, theirs in beside.items():
        name = free_name(path, number, merged.files)
        merged.conflicts[path] = name
        merged.files[name] = merged.written[name] = theirs
    return merged


def _keep(merged: Merge, path: str, mine: FileRecord | None) -> None:
    if mine is not None:
        merged.files[path] = mine


def _take(merged: Merge, path: str, theirs: FileRecord | None) -> None:
    if theirs is None:
        merged.removed.append(path)
    else:
        merged.files[path] = merged.written[path] = theirs


def _untangle(merged: Merge, here: Files, beside: dict[str, FileRecord]) -> None:
    """Move files to another name that cannot be written: a file is to be where a directory is, or the other way round."""
    staying = [path for path in merged.files if path not in merged.written]
    names, folders = set(staying), {folder for path in [*staying, *merged.removed] for folder in above(path)}
    for path in list(merged.written):
        if path in folders or names.intersection(above(path)) or any(folder in here for folder in above(path)):
            beside[path] = merged.written.pop(path)
            del merged.files[path]


def above(path: str) -> list[str]:
    """Return the directories that a path is in, the outermost first."""
    parts = path.split("/")
    return ["/".join(parts[:count]) for count in range(1, len(parts))]


def free_name(path: str, number: int, taken: Mapping[str, object]) -> str:
    """Return a name for the store's file of version `number`, beside a file that has its name here, or has the name of its directory."""
    folders = {folder for each in taken for folder in above(each)}
    parts = path.split("/")
    for place in range(len(parts)):
        if "/".join(parts[: place + 1]) in taken or place == len(parts) - 1:
            break
    stem, dot, ending = parts[place].rpartition(".")
    if not stem:
        stem, dot, ending = parts[place], "", ""
    for attempt in range(1, len(taken) + 3):
        again = f"-{attempt}" if attempt > 1 else ""
        changed = f"{stem}.conflict-{number}{again}{dot}{ending}"
        name = "/".join([*parts[:place], changed, *parts[place + 1 :]])
        if name not in taken and name not in folders and not any(each in taken for each in above(name)):
            return name
    raise AssertionError("there are more names than files")
