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
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

from sandbox_server.core.errors import ResourceExhausted
from sandbox_server.core.quota import Quota, owner_of
from sandbox_server.drivers.credentials.grants import Grant
from sandbox_server.drivers.credentials.invitation import Invitation
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


@dataclass(frozen=True, slots=True)
class _Waiting:
    """What the file of a ticket says."""

    grant: Grant
    left: int
    """How many may still redeem it."""
    shared: bool
    """Whether it was made for several, who each get a name of their own."""
    invitation: Invitation | None

    def dumps(self) -> bytes:
        """Encode as JSON."""
        told = None if self.invitation is None else self.invitation.dumps()
        value = {"grant": json.loads(self.grant.dumps()), "left": self.left, "shared": self.shared, "invitation": told}
        return json.dumps(value).encode()

    @classmethod
    def loads(cls, text: bytes) -> "_Waiting":
        """Decode the output of `dumps`."""
        value = json.loads(text)
        grant = Grant.loads(json.dumps(value["grant"]).encode())
        return cls(grant, value["left"], value["shared"], Invitation.loads(value.get("invitation")))


@dataclass(frozen=True, slots=True)
class OpenInvitation:
    """An invitation that somebody may still come by."""

    invitation: Invitation
    scopes: frozenset[str]
    left: int
    """How many may still come."""
    expires_at: float
    """Seconds since the epoch."""


class Tickets:
    """The unredeemed tickets, in one directory of the user control.

    A file's name has the ticket's hash and its maker. A program has a limited share of them, and boot always gets one.
    The calls block for a small file operation.
    """

    def __init__(self, directory: str, now: Callable[[], float] = time.time) -> None:
        self._directory = Path(directory)
        self._now = now
        self._redeeming = threading.Lock()

    def create(
        self,
        grant: Grant,
        ttl: float,
        uses: int = 1,
        *,
        maker: str | None = None,
        person: bool = False,
        invitation: Invitation | None = None,
    ) -> str:
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
        self._write(self._directory / name, _Waiting(grant, uses, uses > 1, invitation).dumps(), self._now() + ttl)
        return ticket

    def invitations(self) -> list[OpenInvitation]:
        """Return the invitations that are open, oldest first."""
        return [found for _, found in self._invitations()]

    def withdraw(self, invitation: str) -> bool:
        """Make an invitation's link void, by its id. Returns whether it was open. Who came by it before stays signed in."""
        with self._redeeming:
            files = [file for file, found in self._invitations() if found.invitation.id == invitation]
            for file in files:
                file.unlink(missing_ok=True)
        return bool(files)

    def _invitations(self) -> Iterator[tuple[Path, OpenInvitation]]:
        self._directory.mkdir(mode=0o700, exist_ok=True)
        for _, file in sorted(self._waiting()):
            if file.name.startswith(_UNFINISHED):
                continue
            with suppress(FileNotFoundError):
                kept, expires = _Waiting.loads(file.read_bytes()), file.stat().st_mtime
                if kept.invitation:
                    yield file, OpenInvitation(kept.invitation, kept.grant.scopes, kept.left, expires)

    def redeem(self, ticket: str, path: str) -> Grant | None:
        """Redeem a ticket for a request to `path`.

        Returns None if it is unknown, used, expired, or for another path, which does not use it up. Each user of a
        ticket for several uses gets a name of its own.
        """
        with self._redeeming:
            file = self._file_of(ticket)
            if file is None:
                return None
            try:
                kept, expires = _Waiting.loads(file.read_bytes()), file.stat().st_mtime
                if not kept.grant.covers(path):
                    return None
                file.unlink()
            except FileNotFoundError:
                return None
            if self._now() >= expires:
                return None
            if kept.left > 1:
                self._write(file, replace(kept, left=kept.left - 1).dumps(), expires)
        return replace(kept.grant, caller=bearer_of(kept.grant.caller)) if kept.shared else kept.grant

    def _file_of(self, ticket: str) -> Path | None:
        """Return a ticket's file. Only names are read: anybody may ask for tickets that there are not."""
        beginning = f"{_digest(ticket)}."
        with suppress(FileNotFoundError), os.scandir(self._directory) as entries:
            return next((self._directory / entry.name for entry in entries if entry.name.startswith(beginning)), None)
        return None

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
