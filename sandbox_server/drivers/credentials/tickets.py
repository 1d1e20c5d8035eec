"""Tickets, for one use or a few: a file for each, named by its hash, so that they outlive the API and boot can make one before it runs."""

import hashlib
import json
import os
import re
import secrets
import threading
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

from sandbox_server.core.errors import ResourceExhausted
from sandbox_server.drivers.credentials.grants import Grant
from sandbox_server.drivers.credentials.names import bearer_of

MAX_OUTSTANDING = 1024
"""Tickets that may wait to be redeemed at once."""

_TICKET = re.compile(r"tk-[A-Za-z0-9_-]{43}")


def is_ticket(text: str) -> bool:
    """Whether a string has the form of our tickets; other programs' `ticket` parameters have not."""
    return _TICKET.fullmatch(text) is not None


_UNFINISHED = "new-"
UNFINISHED_SECONDS = 60.0
"""A file that has not got its name by then never will."""


class Tickets:
    """The tickets that were made and not redeemed, in one directory of the control user.

    The calls block for as long as a small file operation takes.
    """

    def __init__(self, directory: str, now: Callable[[], float] = time.time) -> None:
        self._directory = Path(directory)
        self._now = now
        self._redeeming = threading.Lock()

    def create(self, grant: Grant, ttl: float, uses: int = 1) -> str:
        """Make a ticket that can be redeemed `uses` times within `ttl` seconds. Raises ResourceExhausted when too many wait."""
        self._directory.mkdir(mode=0o700, exist_ok=True)
        if self._sweep() >= MAX_OUTSTANDING:
            raise ResourceExhausted(f"{MAX_OUTSTANDING} tickets wait to be redeemed", retry_after=ttl)
        ticket = f"tk-{secrets.token_urlsafe(32)}"
        self._write(self._path(ticket), _kept(grant, uses, shared=uses > 1), self._now() + ttl)
        return ticket

    def redeem(self, ticket: str, path: str) -> Grant | None:
        """Use a ticket for a request to `path`; None if it is unknown, used or expired, or not for that path, which does not use it up.

        Everybody who uses a ticket that several may use has a name of their own.
        """
        file = self._path(ticket)
        with self._redeeming:
            try:
                kept, expires = json.loads(file.read_bytes()), file.stat().st_mtime
                grant = Grant.loads(json.dumps(kept["grant"]).encode())
                if not grant.covers(path):
                    return None
                file.unlink()
            except FileNotFoundError:
                return None
            if self._now() >= expires:
                return None
            if kept["left"] > 1:
                self._write(file, _kept(grant, kept["left"] - 1, shared=True), expires)
        return replace(grant, caller=bearer_of(grant.caller)) if kept["shared"] else grant

    def _path(self, ticket: str) -> Path:
        return self._directory / hashlib.sha256(ticket.encode()).hexdigest()

    def _write(self, file: Path, content: bytes, expires: float) -> None:
        """The modification time is when it expires. Root makes it the directory's owner's: the API must be able to read it.

        It has its name only then: what is swept meanwhile, here or by another process, is what has expired.
        """
        made = file.with_name(f"{_UNFINISHED}{file.name}")
        descriptor = os.open(made, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        try:
            os.write(descriptor, content)
            owner = self._directory.stat()
            if os.geteuid() == 0:
                os.fchown(descriptor, owner.st_uid, owner.st_gid)
            os.utime(descriptor, (expires, expires))
        finally:
            os.close(descriptor)
        made.rename(file)

    def _sweep(self) -> int:
        """Remove the expired ones; how many are left."""
        left = 0
        for entry in os.scandir(self._directory):
            unfinished = UNFINISHED_SECONDS if entry.name.startswith(_UNFINISHED) else 0.0
            try:
                if entry.stat().st_mtime + unfinished <= self._now():
                    os.unlink(entry)
                else:
                    left += 1
            except FileNotFoundError:
                continue
        return left


def _kept(grant: Grant, left: int, *, shared: bool) -> bytes:
    return json.dumps({"grant": json.loads(grant.dumps()), "left": left, "shared": shared}).encode()
