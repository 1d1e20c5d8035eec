"""W3C Trace Context: whose trace a call belongs to (https://www.w3.org/TR/trace-context/#traceparent-header)."""

import re
import secrets
from collections.abc import Mapping
from dataclasses import dataclass

_HEADER = re.compile(r"(?!ff)[0-9a-f]{2}-(?!0{32})([0-9a-f]{32})-(?!0{16})([0-9a-f]{16})-([0-9a-f]{2})(?:-.*)?")


@dataclass(frozen=True, slots=True)
class Trace:
    """One call as a span of a trace, each by its hexadecimal id."""

    trace: str
    span: str
    parent: str | None
    sampled: bool = True


def trace_of(headers: Mapping[str, str]) -> Trace | None:
    """The span that a call makes below what its `traceparent` names; None where it names none."""
    found = _HEADER.fullmatch(headers.get("traceparent", "").strip())
    if found is None:
        return None
    return Trace(found[1], secrets.token_hex(8), found[2], bool(int(found[3], 16) & 1))


def new_trace() -> Trace:
    """A span that is nobody's child."""
    return Trace(secrets.token_hex(16), secrets.token_hex(8), None)
