"""Tickets for one or a few uses.

Each is a file named by its hash, so that they survive a restart of the API and boot can make one.
"""

import hashlib
import json
import os
import re
import secrets
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import replace
from functools import partial
from pathlib import Path

from sandbox_server.core.errors import ResourceExhausted
from sandbox_server.core.quota import Quota, owner_of
from sandbox_server.drivers.credentials.grants import Grant
from sandbox_server.drivers.credentials.names import bearer_of

MAX_OUTSTANDING = 1024
"""Limit of tickets that wait to be redeemed."""
PROGRAMS_OUTSTANDING = 768
"""Limit of such tickets made by programs."""
MAX_OF_ONE = 512
"""Limit of such tickets made by one program."""

_TICKET = re.compile(r"tk-[A-Za-z0-9_-]{43}")


def is_ticket(text: str) -> bool:
    """Whether a string has the form of our tickets, unlike other programs' `ticket` parameters."""
    return _TICKET.fullmatch(text) is not None


_UNFINISHED = "new-"
_PERSON, _PROGRAM = "p", "a"
UNFINISHED_SECONDS = 60.0
"""Seconds after which a file without its final name is removed."""


class Tickets:
    """The unredeemed tickets, in one directory of the user control.

    A file's name has the ticket's hash and its maker. A program has a limited share of them, and boot always gets one.
    The calls block for a small file operation.
    """

    def __init__(self, directory: str, now: Callable[[], float] = time.time) -> None:
        self._directory = Path(directory)
        self._now = now
        self._redeeming = threading.Lock()

    def create(self, grant: Grant, ttl: float, uses: int = 1, *, maker: str | None = None, person: bool = False) -> str:
        """Make a ticket that can be redeemed `uses` times within `ttl` seconds.

        `maker`, a `person` or a program, requests it; by default the grant's caller. Raises ResourceExhausted at the
        maker's limit. At the total limit, a person's ticket replaces a program's.
        """
        self._directory.mkdir(mode=0o700, exist_ok=True)
        maker = owner_of(maker or grant.caller, person=person)
        owner = _digest(maker)[:16]
        try:
            self._quota().take(owner, person=person)
        except ResourceExhausted as refusal:
            raise ResourceExhausted(refusal.message.replace(owner, maker), retry_after=ttl, limit=MAX_OUTSTANDING) from None
        ticket = f"tk-{secrets.token_urlsafe(32)}"
        name = f"{_digest(ticket)}.{_PERSON if person else _PROGRAM}-{owner}"
        self._write(self._directory / name, _encode_ticket(grant, uses, shared=uses > 1), self._now() + ttl)
        return ticket

    def redeem(self, ticket: str, path: str) -> Grant | None:
        """Redeem a ticket for a request to `path`.

        Returns None if it is unknown, used, expired, or for another path, which does not use it up. Each user of a
        ticket for several uses gets a name of its own.
        """
        with self._redeeming:
            file = next(self._directory.glob(f"{_digest(ticket)}.*"), None)
            if file is None:
                return None
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
                self._write(file, _encode_ticket(grant, kept["left"] - 1, shared=True), expires)
        return replace(grant, caller=bearer_of(grant.caller)) if kept["shared"] else grant

    def _write(self, file: Path, content: bytes, expires: float) -> None:
        """Write a file with the expiry as its modification time, and then rename it.

        As root, gives it to the directory's owner, because the API must read it. A sweep by another process sees only
        files with their final name, so it removes only expired ones.
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

    def _quota(self) -> Quota:
        """Return the quota of tickets by maker, after removing expired ones."""
        quota = Quota("tickets", MAX_OUTSTANDING, programs=PROGRAMS_OUTSTANDING, each=MAX_OF_ONE)
        for _, file in sorted(self._waiting()):
            kind, _, owner = file.name.rpartition(".")[2].partition("-")
            with suppress(ResourceExhausted):  # two processes may make the last one at once
                quota.take(owner, person=kind == _PERSON, leave=partial(file.unlink, missing_ok=True))
        return quota

    def _waiting(self) -> Iterator[tuple[int, Path]]:
        """Yield the files of valid tickets, each with its creation time. Remove the others."""
        for entry in os.scandir(self._directory):
            unfinished = UNFINISHED_SECONDS if entry.name.startswith(_UNFINISHED) else 0.0
            try:
                status = entry.stat()
                if status.st_mtime + unfinished <= self._now():
                    os.unlink(entry)
                else:
                    yield status.st_ctime_ns, self._directory / entry.name
            except FileNotFoundError:
                continue


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


def _encode_ticket(grant: Grant, left: int, *, shared: bool) -> bytes:
    return json.dumps({"grant": json.loads(grant.dumps()), "left": left, "shared": shared}).encode()
