"""What is known of a checkpoint, as it is written down by an earlier container or by who made an archive. None of that is believed."""

import re
from dataclasses import dataclass, fields
from typing import Any, Literal

MAX_TEXT = 1000
"""Characters of a label, and of who made a checkpoint."""
MAX_TIME = 1 << 40
"""Seconds since the epoch; no file system keeps a later time."""
MAX_COUNT = 1 << 62
_ID = re.compile("[0-9a-f]{8}")

type Why = Literal["asked", "before_restore", "before_risk", "imported", "squashed"]
WHYS: tuple[Why, ...] = ("asked", "before_restore", "before_risk", "imported", "squashed")


@dataclass(frozen=True)
class Record:
    """One checkpoint. `created` is in seconds since the epoch; `files` and `bytes` are None until they were counted."""

    id: str
    parent: str | None
    label: str
    who: str
    why: Why
    created: float
    files: int | None = None
    bytes: int | None = None

    @classmethod
    def loads(cls, written: Any) -> "Record":
        """Read what `asdict` made of one; raises ValueError for anything else."""
        if not isinstance(written, dict) or not written.keys() <= {one.name for one in fields(cls)}:
            raise ValueError("a checkpoint's record has other fields")
        found: dict[str, Any] = {"parent": None, "files": None, "bytes": None} | written
        _check("id", is_id(found.get("id")))
        _check("parent", found["parent"] is None or is_id(found["parent"]))
        _check("label", _is_text(found.get("label")))
        _check("who", _is_text(found.get("who")))
        _check("why", found.get("why") in WHYS)
        _check("created", is_time(found.get("created")))
        for name in ("files", "bytes"):
            _check(name, found[name] is None or _is_count(found[name]))
        return cls(**found)


def _check(name: str, holds: bool) -> None:
    if not holds:
        raise ValueError(f"a checkpoint's record has a malformed {name}")


def is_id(value: object) -> bool:
    """Whether something is the name of a checkpoint."""
    return isinstance(value, str) and _ID.fullmatch(value) is not None


def is_time(value: object) -> bool:
    """Whether something is a time that a file may have, in seconds since the epoch."""
    return isinstance(value, int | float) and not isinstance(value, bool) and -MAX_TIME <= value <= MAX_TIME


def _is_count(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and 0 <= value <= MAX_COUNT


def _is_text(value: object) -> bool:
    """Whether something is text that can be told again: half of a pair of surrogates cannot."""
    return isinstance(value, str) and len(value) <= MAX_TEXT and not any("\ud800" <= letter <= "\udfff" for letter in value)


def text_of(value: str) -> str:
    """What is kept of a text."""
    return value[:MAX_TEXT].encode("utf-8", "replace").decode()
