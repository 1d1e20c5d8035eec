"""Where the box's files are kept: a stack of layers, and a record of each checkpoint.

    up/             what changed since the box was mounted
    l/ID/           a checkpoint: what had changed since its parent, never written again
    about/ID.json   its record; ID.state: shells, tabs and programs of that moment
    state.json      the head, what the box is mounted on where that is another, and the version of this layout
    snapshot.json   what of up/ the head holds, where that was copied while the box ran
    work/ root/     overlayfs's own, and where the tree is put together; empty/ is what is below where all is hidden
    reserve/        room that is kept for all this on a full disk
    base-*/         copies of the image's directories, made at each start of the daemon
    profiles/       the browser's profiles, the desktop user's, in no checkpoint

A checkpoint is one rename: of up/ where the box does not run, else of a copy of what changed in it. The box then stands on the copy, and
is still mounted on what it was: up/ holds everything since that. Records are written to a draft, synchronised and renamed, so that a crash
leaves the old or the new one.
"""

import json
import os
import secrets
import time
from collections.abc import Collection, Iterable, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, replace
from typing import Any

from sandbox_server.drivers.box import resolve_beneath
from sandbox_server.drivers.box.checkpoint_records import Record, Why, is_id, text_of
from sandbox_server.drivers.box.disk_reserve import Reserve
from sandbox_server.drivers.box.mount_plan import LayeredPart, Stack
from sandbox_server.drivers.storage import atomic_write

FORMAT = 1
FORMAT_COPIED = 2
"""Of a store whose box is mounted on another checkpoint than its head, which older versions would not know."""
MAX_DEPTH = 64
"""Layers in one chain: their paths have to fit into a page of mount options, and each makes looking up a name slower."""
EMPTY = "empty"
"""An empty directory: what is below where everything is hidden."""
FORMER = "former-"
"""How the names begin of what had changed before a restore, until a box runs on what was restored."""
MAX_RECORD = 64 << 10
"""Bytes of one record."""


class StoreError(Exception):
    """The store does not have it, or may not do it; `kind` is the failure's: not_found, conflict, unavailable or resource_exhausted."""

    def __init__(self, kind: str, message: str) -> None:
        super().__init__(message)
        self.kind = kind
        self.message = message


@dataclass(frozen=True)
class Former:
    """What a box stood on: its head, what it was mounted on, and where what had changed since is now; None where nothing had."""

    head: str | None
    base: str | None
    up: str | None


class BoxStore:
    """The layers below one directory, which root alone can enter."""

    def __init__(self, folder: str) -> None:
        self.folder = folder
        self.reserve = Reserve(self._path("reserve"))

    def check(self) -> None:
        """Raise StoreError if what an earlier container left is damaged, or of another version."""
        if os.path.exists(self._path("state.json")):
            self._state()

    def prepare(self) -> None:
        """Make the directories; an earlier container's layers stay."""
        os.makedirs(self.folder, exist_ok=True)
        os.chown(self.folder, 0, 0)
        os.chmod(self.folder, 0o700)
        self.reserve.make_room()
        for name in ("l", "about", "root", EMPTY):
            os.makedirs(self._path(name), exist_ok=True)
        if not os.path.exists(self._path("state.json")):
            self._write_state(None, None)
        self._finish_interrupted()

    def _finish_interrupted(self) -> None:
        """Bring to its end what a crash left half done."""
        state = self._state()
        if pending := state.get("pending"):
            record = Record.loads(pending)
            if os.path.exists(self.layer(record.id)):
                self._write(f"about/{record.id}.json", pending)
                state |= {"head": record.id} | ({} if state.get("copied") else {"base": record.id})
        if state.get("drop"):
            self._set_aside(self.up)
        if (back := state.get("back")) and os.path.lexists(self._path(back)):
            os.rename(self._path(back), self.up)
        self._write_state(state["head"], state["base"])
        self._set_all_aside("draft-")
        self._set_all_aside(FORMER)
        for name in os.listdir(self._path("l")):
            if not os.path.exists(self._path("about", f"{name}.json")):
                self._set_aside(self._path("l", name))

    @property
    def head(self) -> str | None:
        """The checkpoint that the box started from, or that was made of it since; None is the image."""
        head: str | None = self._state()["head"]
        return head

    @property
    def base(self) -> str | None:
        """The checkpoint that the box is mounted on: `up` holds what changed since that one. None is the image."""
        base: str | None = self._state()["base"]
        return base

    @property
    def snapshot(self) -> str:
        """Where it is written what of `up` the head holds."""
        return self._path("snapshot.json")

    @property
    def is_copied(self) -> bool:
        """Whether the head is a copy of what was in `up`. Else all that is there came after the head, and a snapshot is of another `up`."""
        return self.head != self.base

    def _state(self) -> dict[str, Any]:
        path = self._path("state.json")
        try:
            with open(path, encoding="utf-8") as file:
                state: dict[str, Any] = json.load(file)
        except FileNotFoundError:
            raise StoreError("unavailable", f"the box's volume was emptied: {path} is gone. A restart makes a new box") from None
        except OSError as error:
            raise StoreError("unavailable", f"the box's volume cannot be read: {error}") from None
        except ValueError as error:
            raise StoreError("unavailable", f"the box's volume is damaged: {path}: {error}") from None
        if state["format"] not in (FORMAT, FORMAT_COPIED):
            raise StoreError("conflict", f"{self.folder} was written by another version: format {state['format']}")
        return {"base": state["head"]} | state

    def _write_state(self, head: str | None, base: str | None, **unfinished: object) -> None:
        other = {} if base == head else {"base": base}
        self._write("state.json", {"format": FORMAT_COPIED if other else FORMAT, "head": head, **other, **unfinished})

    def records(self) -> list[Record]:
        """Every checkpoint, oldest first; one whose record is damaged is left out."""
        found: list[Record] = []
        for name in os.listdir(self._path("about")):
            with suppress(StoreError):
                found += [self.record(name.removesuffix(".json"))] if name.endswith(".json") else []
        return sorted(found, key=lambda record: (record.created, record.id))

    def record(self, checkpoint: str) -> Record:
        """One checkpoint; raises StoreError where there is none, or its record is damaged."""
        if not is_id(checkpoint):
            raise StoreError("not_found", f"no checkpoint {checkpoint!r}")
        try:
            with open(self._path("about", f"{checkpoint}.json"), "rb") as file:
                found = Record.loads(json.loads(file.read(MAX_RECORD)))
        except FileNotFoundError:
            raise StoreError("not_found", f"no checkpoint {checkpoint!r}") from None
        except (ValueError, RecursionError) as error:
            raise StoreError("conflict", f"the record of checkpoint {checkpoint!r} is damaged: {error}") from None
        if found.id != checkpoint:
            raise StoreError("conflict", f"the record of checkpoint {checkpoint!r} is damaged: it is of another")
        return found

    def chain(self, checkpoint: str | None) -> list[str]:
        """The layers of a checkpoint, its own first. Raises StoreError where one is missing, or they are more than a box can stand on."""
        found: list[str] = []
        while checkpoint is not None:
            if len(found) == MAX_DEPTH:
                raise StoreError("resource_exhausted", f"the chain has more than {MAX_DEPTH} layers: squash it first")
            found.append(checkpoint)
            checkpoint = self.record(checkpoint).parent
        return found

    def check_target(self, checkpoint: str | None) -> None:
        """Raise StoreError where no box can stand on a checkpoint."""
        for layer in self.chain(checkpoint):
            if not resolve_beneath.is_directory(self._path("l"), layer):
                raise StoreError("conflict", f"the files of checkpoint {layer!r} are missing")

    def layer(self, checkpoint: str) -> str:
        """Where the files of one layer are."""
        return self._path("l", checkpoint)

    @property
    def up(self) -> str:
        """Where the changes since the head are."""
        return self._path("up")

    def has_changes(self, parts: Sequence[LayeredPart]) -> bool:
        """Whether anything was changed since the box was mounted, beside the directories that the parts themselves need."""
        return _is_changed(self.up, {part.path.rstrip("/") for part in parts})

    def check_depth(self, checkpoint: str | None) -> None:
        """Raise StoreError where no other layer fits on a checkpoint."""
        if len(self.chain(checkpoint)) >= MAX_DEPTH:
            raise StoreError("resource_exhausted", f"the chain has {MAX_DEPTH} layers: squash it first")

    def checkpoint(self, label: str, who: str, why: Why) -> Record:
        """Turn what changed since the box was mounted into a layer, and make that the head. The box must not run."""
        record = Record(secrets.token_hex(4), self.base, text_of(label), text_of(who), why, time.time())
        self._write_state(self.head, self.base, pending=asdict(record))
        os.rename(self.up, self.layer(record.id))
        self._write(f"about/{record.id}.json", asdict(record))
        self._write_state(record.id, record.id)
        return record

    def checkpoint_copy(self, draft: str, name: str, label: str, who: str, why: Why, *, follows: bool) -> Record:
        """Turn a copy of what changed into a layer, and make that the head; `follows`: it stands on the head. The box may run."""
        record = Record(name, self.head if follows else self.base, text_of(label), text_of(who), why, time.time())
        base = self.base
        self._write_state(self.head, base, pending=asdict(record), copied=True)
        os.rename(self._path(os.path.basename(draft)), self.layer(record.id))
        self._write(f"about/{record.id}.json", asdict(record))
        self._write_state(record.id, base)
        return record

    def start_from(self, checkpoint: str | None) -> Former:
        """Let the next box start from a checkpoint, without what changed since the head; gives what was there. The box must not run."""
        aside = self._path(f"{FORMER}{secrets.token_hex(4)}") if os.path.lexists(self.up) else None
        former = Former(self.head, self.base, aside)
        self._write_state(checkpoint, checkpoint, drop=True)
        if former.up:
            os.rename(self.up, former.up)
        self._write_state(checkpoint, checkpoint)
        return former

    def go_back(self, former: Former) -> None:
        """Have what was there before `start_from` again. The box must not run."""
        self._set_aside(self.up)
        self._write_state(former.head, former.base, back=former.up and os.path.basename(former.up))
        if former.up:
            os.rename(former.up, self.up)
        self._write_state(former.head, former.base)

    def let_go(self, former: Former) -> None:
        """Give up what was there before `start_from`, since a box runs on what is there now."""
        if former.up:
            self._set_aside(former.up)

    def drop_changes(self) -> None:
        """Set aside what changed since the head, where there is no room to write first that it is to go. The box must not run."""
        self._set_aside(self.up)

    def adopt(self, folder: str, label: str, who: str, why: Why, parent: str | None) -> Record:
        """Make a layer of a draft."""
        record = Record(secrets.token_hex(4), parent, text_of(label), text_of(who), why, time.time())
        os.rename(folder, self.layer(record.id))
        self._write(f"about/{record.id}.json", asdict(record))
        return record

    def replace_layer(self, checkpoint: str, folder: str, *, parent: str | None, why: Why = "squashed") -> Record:
        """Put a draft in the place of a layer and let it stand on another. The box may go on running on the old one."""
        record = replace(self.record(checkpoint), parent=parent, why=why, files=None, bytes=None)
        os.rename(self.layer(checkpoint), self._path(f"stale-{secrets.token_hex(4)}"))
        os.rename(folder, self.layer(checkpoint))
        self._write(f"about/{checkpoint}.json", asdict(record))
        return record

    def update(self, checkpoint: str, *, files: int, size: int) -> None:
        """Note what a layer holds."""
        self._write(f"about/{checkpoint}.json", asdict(replace(self.record(checkpoint), files=files, bytes=size)))

    def forget(self, checkpoint: str) -> None:
        """Drop a checkpoint on which nothing stands."""
        record = self.record(checkpoint)
        children = [other.id for other in self.records() if other.parent == record.id]
        if children or checkpoint in (self.head, self.base):
            stands = ", ".join(children) or "the box itself"
            raise StoreError("conflict", f"checkpoint {checkpoint!r} cannot go: {stands} stands on it")
        os.unlink(self._path("about", f"{checkpoint}.json"))
        with suppress(FileNotFoundError):
            os.unlink(self._path("about", f"{checkpoint}.state"))
        self._set_aside(self.layer(checkpoint))

    def _set_aside(self, path: str) -> None:
        with suppress(FileNotFoundError):
            os.rename(path, self._path(f"gone-{secrets.token_hex(4)}"))

    def set_stale_aside(self) -> None:
        """Let layers go that were replaced, now that no box runs that stands on them."""
        self._set_all_aside("stale-")

    def _set_all_aside(self, prefix: str) -> None:
        for name in os.listdir(self.folder):
            if name.startswith(prefix):
                self._set_aside(self._path(name))

    def leftovers(self) -> list[str]:
        """What was set aside and waits for somebody to remove it, which takes as long as it is large."""
        return [self._path(name) for name in os.listdir(self.folder) if name.startswith("gone-")]

    def make_base(self) -> str:
        """Make an empty directory for copies of the image and put those of earlier containers aside."""
        self._set_all_aside("base-")
        base = self._path(f"base-{secrets.token_hex(4)}")
        os.mkdir(base)
        return base

    def drop(self, drafts: Iterable[str]) -> None:
        """Set drafts aside that did not become layers."""
        for draft in drafts:
            self._set_aside(draft)

    def drop_drafts(self) -> None:
        """Set aside every draft: nobody works on one."""
        self._set_all_aside("draft-")

    def make_draft(self) -> str:
        """Make an empty directory in which a layer can be put together."""
        draft = self._path(f"draft-{secrets.token_hex(4)}")
        os.mkdir(draft)
        return draft

    def prepare_mounts(self, parts: Sequence[LayeredPart]) -> list[Stack]:
        """Make what overlayfs needs for each part, and tell what it is to put together."""
        chain = [f"l/{checkpoint}" for checkpoint in self.chain(self.base)]
        stacks = []
        for number, part in enumerate(parts):
            path = part.path.rstrip("/")
            lowers, hidden = self._lowers(part, chain)
            if self._prepare_upper(part, lowers):
                lowers, hidden = [], True
            os.makedirs(self._path("work", str(number)), exist_ok=True)  # overlayfs empties what it finds there
            image = [] if hidden else [part.lower]
            stacks.append(Stack((*lowers, *image) or (EMPTY,), f"up{path}", f"work/{number}"))
        return stacks

    def _lowers(self, part: LayeredPart, layers: Sequence[str]) -> tuple[list[str], bool]:
        """Where layers have the directory of a part, and whether one of them hides what is below, as overlayfs would have it."""
        found = []
        for layer in layers:
            seen = resolve_beneath.look(self._path(layer), part.path)
            if seen.directory:
                found.append(layer + part.path.rstrip("/"))
            if seen.hides:
                return found, True
        return found, False

    def _prepare_upper(self, part: LayeredPart, lowers: Sequence[str]) -> bool:
        """Make the directory of a part in the uppermost layer; tells whether that hides what is below.

        What is no directory there gives way: it came when nothing was mounted there or below.
        """
        fresh = not os.path.isdir(self.up)
        os.makedirs(self.up, exist_ok=True)
        if not fresh and resolve_beneath.is_directory(self.up, part.path):
            return resolve_beneath.look(self.up, part.path).hides
        upper, replaced = resolve_beneath.make_directory(self.up, part.path)
        lower = resolve_beneath.open_directory(self.folder, lowers[0]) if lowers else resolve_beneath.open_directory(part.lower, "")
        try:
            resolve_beneath.resemble(upper, lower)
        finally:
            os.close(upper)
            os.close(lower)
        return replaced or resolve_beneath.look(self.up, part.path).hides

    def _path(self, *names: str) -> str:
        return os.path.join(self.folder, *names)

    def _write(self, name: str, content: object) -> None:
        atomic_write.replace(self._path(name), json.dumps(content), durable=True)


def _is_changed(up: str, own: Collection[str]) -> bool:
    """Whether an uppermost layer holds more than the directories in `own` and those on the way there, or one that hides what is below."""
    waiting = [""]
    while waiting:
        path = waiting.pop()
        if resolve_beneath.look(up, path).hides:
            return True
        folder = resolve_beneath.open_directory(up, path)
        try:
            with os.scandir(folder) as entries:  # one after the other: there may be millions
                for entry in entries:
                    inner = f"{path}/{entry.name}"
                    if not any(f"{one}/".startswith(f"{inner}/") for one in own) or not entry.is_dir(follow_symlinks=False):
                        return True
                    waiting.append(inner)
        finally:
            os.close(folder)
    return False
