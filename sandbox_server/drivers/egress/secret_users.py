"""Who may get the value of a secret: programs of the agent, and, where a binding says so, pages of the bound host itself.

Whose a connection is, the kernel says. What a page of a browser asks for is told from the browser's own fields
(https://www.w3.org/TR/fetch-metadata/), which no script of a page can set.
"""

import enum
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from sandbox_server.drivers.egress.socket_owner import SocketOwner

HTTPS = 443
_SAME_ORIGIN = b"same-origin"


class Requester(enum.StrEnum):
    """Who sends a request, as far as that decides on secrets."""

    PROGRAM = "program"
    OWN_PAGE = "own_page"
    """A page of the origin that the request goes to, in a browser."""
    OTHER_ORIGIN = "other_origin"
    """A browser, for another page or for none."""
    OTHER_USER = "other_user"
    UNKNOWN_OWNER = "unknown_owner"
    """The kernel did not say whose the connection is, or its socket was closed."""


@dataclass(frozen=True, slots=True)
class SecretUsers:
    """The user ids whose connections may get secrets; without any nobody's do."""

    programs: frozenset[int] = frozenset()
    """The agent's own."""
    browser: int | None = None
    """The desktop's. Every request of it is a browser's."""

    def document(self) -> dict[str, Any]:
        """Return them as JSON, as `read_users` takes it."""
        return {"programs": sorted(self.programs), "browser": self.browser}


def read_users(given: Mapping[str, Any]) -> SecretUsers:
    """Read the users as the API sends them. Raises KeyError, TypeError and ValueError."""
    return SecretUsers(frozenset(int(uid) for uid in given["programs"]), int(given["browser"]))


def requester_of(owner: SocketOwner | None, users: SecretUsers, fields: Sequence[tuple[bytes, bytes]], place: tuple[str, int]) -> Requester:
    """Return who sends a request over a connection of `owner`, to the host and port of `place`.

    A request with `Sec-Fetch-Site` is a browser's, whoever started that. Browsers may leave the field out of a request for a WebSocket,
    which then has to name its origin.
    """
    if owner is None or not owner.inode:  # the kernel calls a closed socket root's
        return Requester.UNKNOWN_OWNER
    if owner.uid != users.browser and owner.uid not in users.programs:
        return Requester.OTHER_USER
    sites, origins, asks_for_websocket = (_values(fields, name) for name in (b"sec-fetch-site", b"origin", b"upgrade"))
    own_origin = all(each == _origin(*place) for each in origins)
    if owner.uid != users.browser and not sites:
        return Requester.PROGRAM if own_origin or not asks_for_websocket else Requester.OTHER_ORIGIN
    own_page = sites == [_SAME_ORIGIN] or (not sites and bool(asks_for_websocket) and bool(origins))
    return Requester.OWN_PAGE if own_page and own_origin else Requester.OTHER_ORIGIN


def _values(fields: Sequence[tuple[bytes, bytes]], wanted: bytes) -> list[bytes]:
    return [value.strip().lower() for name, value in fields if name.lower() == wanted]


def _origin(host: str, port: int) -> bytes:
    return f"https://{host}{'' if port == HTTPS else f':{port}'}".encode()
