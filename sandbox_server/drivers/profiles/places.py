"""Where profiles are kept, who holds one, and how a change of them survives a crash.

    NAME/chromium/      Chromium's user data directory
    NAME/profile.json   what is said of it; last of all, so a directory without it is none
    .drafts/XXXX/       what is being made or removed, locked by who does it

A profile appears and goes by one rename. Whoever uses it holds a lock (flock(2)) on its directory: Chromium while it runs, and the worker
while it copies. The kernel releases it with the process.
"""

import fcntl
import json
import os
import secrets
import shutil
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any

from sandbox_server.drivers.profiles.names import DEFAULT, is_name, profile_folder
from sandbox_server.drivers.profiles.problem import ProfileProblem, damaged
from sandbox_server.drivers.profiles.tree import MAX_BYTES, NewTree, files, read_small, synchronise

MAX_PROFILES = 64
MAX_RECORD = 4096
FORMAT = 1
LOCK_SECONDS = 1.0
_RECORD = "profile.json"
_DRAFTS = ".drafts"
_DIRECTORY = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC


class ProfilePlaces:
    """The profiles below `root`, of at most `max_bytes` together, and the directory of the profile `default`."""

    def __init__(self, root: str, default: str, max_bytes: int) -> None:
        self._root = root
        self._default = default
        self._max_bytes = max_bytes

    def names(self) -> list[str]:
        """Return the names of the profiles but `default`, in order."""
        with os.scandir(self._root) as entries:
            found = [entry.name for entry in entries if is_name(entry.name) and entry.is_dir(follow_symlinks=False)]
        return sorted(name for name in found if os.path.lexists(f"{self._root}/{name}/{_RECORD}"))[:MAX_PROFILES]

    def require(self, name: str) -> None:
        """Raise ProfileProblem where there is no such profile."""
        if name != DEFAULT and name not in self.names():
            raise ProfileProblem("not_found", f"there is no profile {name!r}")

    @contextmanager
    def opened(self, name: str) -> Iterator[int]:
        """Open the directory of a profile. Raises ProfileProblem where there is none."""
        self.require(name)
        try:
            descriptor = os.open(profile_folder(self._root, self._default, name), _DIRECTORY)
        except FileNotFoundError:
            if name == DEFAULT:
                raise ProfileProblem("not_found", "the browser has not run on the profile 'default' yet") from None
            raise damaged("its directory is gone") from None
        except OSError as error:
            raise damaged(str(error.strerror)) from None
        try:
            yield descriptor
        finally:
            os.close(descriptor)

    @contextmanager
    def held(self, name: str) -> Iterator[int]:
        """Open a profile and keep everybody else from it. Raises ProfileProblem where somebody has it."""
        with self.opened(name) as descriptor:
            ends = time.monotonic() + LOCK_SECONDS  # whoever lists profiles has each for a moment
            while not _lock(descriptor):
                if time.monotonic() > ends:
                    raise ProfileProblem("conflict", f"the profile {name!r} is in use", "in_use")
                time.sleep(0.05)
            if not os.path.samestat(os.fstat(descriptor), os.stat(profile_folder(self._root, self._default, name))):
                raise ProfileProblem("not_found", f"the profile {name!r} was removed meanwhile")
            yield descriptor

    def record(self, name: str) -> dict[str, Any]:
        """Return what is said of a profile. Raises ProfileProblem."""
        with self._folder(name) as folder:
            try:
                found = json.loads(read_small(folder, _RECORD, MAX_RECORD) or b"")
                if found["format"] != FORMAT:
                    raise ProfileProblem("conflict", f"the profile {name!r} is of a later version of this program", "damaged")
                return {"created": float(found["created"])}
            except (ValueError, KeyError, TypeError, RecursionError):
                raise damaged("what is said of it cannot be read") from None

    @contextmanager
    def _folder(self, name: str) -> Iterator[int]:
        try:
            folder = os.open(f"{self._root}/{name}", _DIRECTORY)
        except OSError as error:
            raise damaged(str(error.strerror)) from None
        try:
            yield folder
        finally:
            os.close(folder)

    @contextmanager
    def made(self, name: str) -> Iterator[NewTree]:
        """Make a profile of what the block writes; it appears at the end, whole. Raises ProfileProblem where there is one."""
        if name == DEFAULT or name in self.names():
            raise ProfileProblem("conflict", f"there is a profile {name!r}", "exists")
        if len(self.names()) >= MAX_PROFILES:
            raise ProfileProblem("resource_exhausted", f"there are {MAX_PROFILES} profiles, which is the limit", "limit")
        with self._draft() as draft:
            tree = NewTree(f"{draft}/chromium", max(0, self._max_bytes - self._used()))
            yield tree
            tree.finish()
            self._write_record(draft)
            self._appear(draft, name)

    def _used(self) -> int:
        """Return the bytes of all named profiles; one that cannot be read counts as the largest, and one that is gone as nothing."""
        return sum(map(self._bytes_of, self.names()))

    def _bytes_of(self, name: str) -> int:
        try:
            with self.opened(name) as profile:
                return sum(file.size for file in files(profile))
        except (ProfileProblem, OSError):
            return MAX_BYTES if os.path.lexists(f"{self._root}/{name}") else 0

    def _write_record(self, draft: str) -> None:
        with open(f"{draft}/{_RECORD}", "x", encoding="ascii") as file:
            json.dump({"format": FORMAT, "created": time.time()}, file)
            file.flush()
            os.fsync(file.fileno())
        synchronise(draft)

    def _appear(self, draft: str, name: str) -> None:
        try:
            os.rename(draft, f"{self._root}/{name}")  # a directory that is not empty is never replaced
        except OSError as error:
            if os.path.lexists(f"{self._root}/{name}"):
                raise ProfileProblem("conflict", f"there is a profile {name!r}", "exists") from None
            raise error from None
        synchronise(self._root)

    def remove(self, name: str) -> None:
        """Remove a profile that nobody has. Raises ProfileProblem."""
        if name == DEFAULT:
            raise ProfileProblem("invalid_argument", "the profile 'default' is the container's, and ends with it")
        with self.held(name), self._draft() as draft:
            os.rename(f"{self._root}/{name}", f"{draft}/gone")
            synchronise(self._root)

    @contextmanager
    def _draft(self) -> Iterator[str]:
        """Make a directory for what is on its way, and remove it. Those of workers that were killed are removed before."""
        drafts = f"{self._root}/{_DRAFTS}"
        os.makedirs(drafts, mode=0o700, exist_ok=True)
        self._sweep(drafts)
        draft, descriptor = _locked_draft(drafts)
        try:
            yield draft
        finally:
            os.close(descriptor)
            shutil.rmtree(draft, ignore_errors=True)

    def _sweep(self, drafts: str) -> None:
        for name in os.listdir(drafts):
            with suppress(OSError):
                descriptor = os.open(f"{drafts}/{name}", _DIRECTORY)
                try:
                    if _lock(descriptor):
                        shutil.rmtree(f"{drafts}/{name}", ignore_errors=True)
                finally:
                    os.close(descriptor)

    def is_held(self, name: str) -> bool:
        """Whether somebody has a profile now."""
        with self.opened(name) as descriptor:
            return not _lock(descriptor)


def _locked_draft(drafts: str) -> tuple[str, int]:
    """Make a directory and lock it: another worker may sweep it away before it is locked, and then another one is made."""
    while True:
        draft = f"{drafts}/{secrets.token_hex(8)}"
        os.mkdir(draft, 0o700)
        with suppress(FileNotFoundError):
            descriptor = os.open(draft, _DIRECTORY)
            try:
                if _lock(descriptor) and os.path.samestat(os.fstat(descriptor), os.stat(draft)):
                    return draft, descriptor
            except FileNotFoundError:
                pass
            os.close(descriptor)


def _lock(directory: int) -> bool:
    try:
        fcntl.flock(directory, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True
