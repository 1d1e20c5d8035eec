"""Whose connections are private: while a person is in private mode, those that the desktop may have caused.

The API says who is private and which users are the desktop's. A file keeps that, so that the next process of this kind
begins with it: what is caused before the API is there again is not told to everybody.
"""

import json
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from sandbox_server.drivers.egress.socket_owner import SocketOwner
from sandbox_server.drivers.storage import atomic_write

NOBODY = ""
"""In the place of a person: one connection was open in the private time of two."""


class PrivateTime:
    """The person who is private, and the users whose connections are that person's alone meanwhile."""

    def __init__(self, path: str | None = None) -> None:
        self._path = path
        self.person: str | None = None
        """Who is private now; None if nobody is."""
        self._users: frozenset[int] = frozenset()
        self.on_change: Callable[[], None] = lambda: None
        if path and Path(path).exists():
            self.person, self._users = _read(json.loads(Path(path).read_text(encoding="utf-8")))

    def person_of(self, uid: object, inode: object) -> str | None:
        """Return the person whom alone a connection may be told to; None where everybody may hear of it.

        Without an inode the kernel did not say whose it is: then it may be the desktop's.
        """
        return self.person if uid in self._users or not inode else None

    def marked(self, owner: SocketOwner | None) -> SocketOwner | None:
        """Return the owner of a connection that is open now, with the person whom alone it may be told to from now on."""
        person = self.person_of(owner and owner.uid, owner and owner.inode)
        if person is None:
            return owner
        found = owner or SocketOwner(None, 0)
        return replace(found, private=person if found.private in (None, person) else NOBODY)

    def operation(self, request: Mapping[str, Any]) -> Mapping[str, object]:
        """Serve the operation `private` of the control socket. Raises KeyError, TypeError, ValueError and OSError."""
        given = {"person": request["person"], "users": request["users"]}
        person, users = _read(given)
        if (person, users) == (self.person, self._users):
            return {}
        if self._path:
            atomic_write.replace(self._path, json.dumps(given), mode=0o600)
        self.person, self._users = person, users
        self.on_change()
        return {}


def _read(given: Mapping[str, Any]) -> tuple[str | None, frozenset[int]]:
    person = given["person"]
    if person is not None and not isinstance(person, str):
        raise TypeError("person must be text or null")
    return person, frozenset(int(user) for user in given["users"])
