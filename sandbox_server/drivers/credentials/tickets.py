"""Tickets, for one use or a few: a file for each, named by its hash, so that they outlive the API and boot can make one before it runs."""

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
"""Tickets that may wait to be redeemed at once."""
PROGRAMS_OUTSTANDING = 768
"""Of these, how many may be made by programs."""
MAX_OF_ONE = 512
"""Of these, how many by one program."""

_TICKET = re.compile(r"tk-[A-Za-z0-9_-]{43}")


def is_ticket(text: str) -> bool:
    """Whether a string has the form of our tickets; other programs' `ticket` parameters have not."""
    return _TICKET.fullmatch(text) is not None


_UNFINISHED = "new-"
_PERSON, _PROGRAM = "p", "a"
UNFINISHED_SECONDS = 60.0
"""A file that has not got its name by then never will."""


class Tickets:
    """The tickets that were made and not redeemed, in one directory of the control user.

    A file's name is the ticket's hash and who made it: a program has its share of them, and who starts the container always gets one.
    The calls block for as long as a small file operation takes.
    """

    def __init__(self, directory: str, now: Callable[[], float] = time.time) -> None:
        self._directory = Path(directory)
        self._now = now
        self._redeeming = threading.Lock()

    def create(self, grant: Grant, ttl: float, uses: int = 1, *, maker: str | None = None, person: bool = False) -> str:
        """Make a ticket that can be redeemed `uses` times within `ttl` seconds. `maker` asks for it, a `person` or a program; unsaid, who
        the grant is for.

        Raises ResourceExhausted where the maker has its share. A person's ticket takes the place of a program's where all are taken.
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
        self._write(self._directory / name, _kept(grant, uses, shared=uses > 1), self._now() + ttl)
        return ticket

    def redeem(self, ticket: str, path: str) -> Grant | None:
        """Use a ticket for a request to `path`; None if it is unknown, used or expired, or not for that path, which does not use it up.

        Everybody who uses a ticket that several may use has a name of their own.
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
                self._write(file, _kept(grant, kept["left"] - 1, shared=True), expires)
        return replace(grant, caller=bearer_of(grant.caller)) if kept["shared"] else grant

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

    def _quota(self) -> Quota:
        """Who has how many, after those that have expired are removed."""
        quota = Quota("tickets", MAX_OUTSTANDING, programs=PROGRAMS_OUTSTANDING, each=MAX_OF_ONE)
        for _, file in sorted(self._waiting()):
            kind, _, owner = file.name.rpartition(".")[2].partition("-")
            with suppress(ResourceExhausted):  # two processes may make the last one at once
                quota.take(owner, person=kind == _PERSON, leave=partial(file.unlink, missing_ok=True))
        return quota

    def _waiting(self) -> Iterator[tuple[int, Path]]:
        """The files of tickets that have not expired, each with when it was made; the others are removed."""
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


def _kept(grant: Grant, left: int, *, shared: bool) -> bytes:
    return json.dumps({"grant": json.loads(grant.dumps()), "left": left, "shared": shared}).encode()
