"""Claims of a token. A malformed claim allows nothing, or the token is refused."""

import base64
import binascii
import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from sandbox_server.core.errors import Unauthenticated

MAX_PATTERNS = 64
"""Limit of the patterns of tools in a token, of those of profiles, and of those of lanes. They go through the gateway in a header."""
MAX_TIME = 2.0**53
"""Limit of seconds since the epoch: the largest that JSON numbers hold exactly."""
MAX_TASK = 256
"""Limit of the characters of a task's name."""
_PATTERN = re.compile(r"[A-Za-z0-9_.*?-]{1,96}")
_TIMES = ("exp", "nbf", "iat")
_ABSENT = object()


@dataclass(frozen=True, slots=True)
class Claims:
    """The claims of a verified token."""

    subject: str | None
    scopes: frozenset[str] | None
    """The scopes of its `scope` and `scopes` (a string of words, or a list), of both if it has both; None if it has neither."""
    expires: float | None
    """Seconds since the epoch; None if the token has no `exp`."""
    tools: tuple[str, ...] | None = None
    """The patterns of its `tools` (a string of words, or a list); None if it has none."""
    profiles: tuple[str, ...] | None = None
    """The patterns of its `profiles`, of the same form: the browser profiles that its bearer may use; None if it has none."""
    lanes: tuple[str, ...] | None = None
    """The patterns of its `lanes`, of the same form: the lanes of the browser that its bearer may be in; None if it has none."""
    person: bool = False
    """Whether its `actor` is `person`. The default is an agent."""
    task: str | None = None
    """Its `task`: the task that its bearer works on, for which rules of the egress policy may hold."""


def payload_of(token: str) -> dict[str, Any]:
    """Parse a token's payload, verified or not; raises Unauthenticated if it is malformed or has a claim twice."""
    try:
        body = token.split(".")[1]
        read = base64.urlsafe_b64decode(f"{body}{'=' * (-len(body) % 4)}")
        payload = json.loads(read, object_pairs_hook=_without_doubles, parse_constant=_no_number)
    except (IndexError, binascii.Error, ValueError, RecursionError):
        raise _malformed("it is not JSON, or names a claim twice") from None
    if not isinstance(payload, dict):
        raise _malformed("it is no object")
    _check(payload)
    return payload


def claims_of(payload: Mapping[str, Any]) -> Claims:
    """Read the claims; raises Unauthenticated for a malformed `sub`, `exp`, `nbf` or `iat`.

    Malformed `scope`, `scopes`, `tools`, `profiles` and `lanes` allow nothing.
    """
    _check(payload)
    subject, expires = payload.get("sub"), payload.get("exp")
    name, ends = None if subject is None else str(subject), None if expires is None else float(expires)
    return Claims(
        name,
        _scopes(payload),
        ends,
        _patterns(payload, "tools"),
        _patterns(payload, "profiles"),
        _patterns(payload, "lanes"),
        person=payload.get("actor") == "person",
        task=_task(payload),
    )


def _check(payload: Mapping[str, Any]) -> None:
    for name in _TIMES:
        if name in payload and not _is_time(payload[name]):
            raise _malformed(f"{name} must be a number of seconds")
    if "sub" in payload and not _is_name(payload["sub"]):
        raise _malformed("sub must be text or a whole number, and not empty")


def _scopes(payload: Mapping[str, Any]) -> frozenset[str] | None:
    given = [frozenset(_words(payload[name])) for name in ("scope", "scopes") if name in payload]
    return frozenset.intersection(*given) if given else None


def _patterns(payload: Mapping[str, Any], claim: str) -> tuple[str, ...] | None:
    """Return the patterns of a claim. A word that no name can match allows nothing."""
    named = payload.get(claim, _ABSENT)
    return None if named is _ABSENT else tuple(word for word in _words(named) if _PATTERN.fullmatch(word))[:MAX_PATTERNS]


def _task(payload: Mapping[str, Any]) -> str | None:
    """Return the task. One that is no short printable text is none."""
    named = payload.get("task")
    return named if isinstance(named, str) and 0 < len(named) <= MAX_TASK and named.isprintable() else None


def _words(claim: object) -> list[str]:
    """Return the words of a string, or of a list of strings; none for other types."""
    words = claim.split() if isinstance(claim, str) else claim
    return words if isinstance(words, list) and all(isinstance(word, str) for word in words) else []


def _is_time(claim: object) -> bool:
    return isinstance(claim, int | float) and not isinstance(claim, bool) and 0 <= claim <= MAX_TIME


def _is_name(claim: object) -> bool:
    return (isinstance(claim, str) and bool(claim.strip())) or (
        isinstance(claim, int) and not isinstance(claim, bool) and abs(claim) <= MAX_TIME
    )


def _without_doubles(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        raise ValueError("a name stands twice")
    return found


def _no_number(text: str) -> None:
    raise ValueError(f"{text} is no number")


def _malformed(why: str) -> Unauthenticated:
    return Unauthenticated(f"the token's signature or content is not valid: {why}")
