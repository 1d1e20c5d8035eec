"""Whether a profile can be used: what Chromium wrote into it is whole, and not of a newer Chromium than this one."""

import json
import re

from sandbox_server.drivers.profiles.problem import ProfileProblem, damaged
from sandbox_server.drivers.profiles.tree import read_small, read_start

MAX_JSON = 64 << 20
"""Bytes of one of Chromium's files of preferences."""
_VERSION = re.compile(r"[0-9]{1,5}(?:\.[0-9]{1,7}){3}")
_SQLITE = b"SQLite format 3\0"
_DATABASES = ("Default/Cookies", "Default/Network/Cookies", "Default/Web Data")
_DOCUMENTS = ("Local State", "Default/Preferences")


def version_in(told: bytes) -> str | None:
    """Return the version in what `chromium --version` writes, as `156.0.8078.108`."""
    found = _VERSION.search(told[:1000].decode("ascii", "replace"))
    return found[0] if found else None


def version_of(profile: int) -> str | None:
    """Return the version that last ran on a profile, an open directory; None if none did. Raises ProfileProblem."""
    told = read_small(profile, "Last Version", 64)
    if told is None:
        return None
    text = told.decode("ascii", "replace").strip()
    if not _VERSION.fullmatch(text):
        raise damaged("its file 'Last Version' holds no version")
    return text


def require_usable(profile: int, installed: str) -> None:
    """Raise ProfileProblem for a profile that is damaged, or that a later major version of Chromium has written."""
    require_not_newer(version_of(profile), installed)
    for path in _DOCUMENTS:
        content = read_small(profile, path, MAX_JSON)
        if content is not None and not _is_object(content):
            raise damaged(f"{path!r} is no JSON object")
    for path in _DATABASES:
        head = read_start(profile, path, len(_SQLITE))
        if head and head != _SQLITE:
            raise damaged(f"{path!r} is no database")


def require_not_newer(version: str | None, installed: str) -> None:
    """Raise ProfileProblem where a later major version wrote it: Chromium does not open what that changed."""
    if version is not None and _major(version) > _major(installed):
        raise ProfileProblem("conflict", f"the profile is of Chromium {version}, and this one is {installed}", "newer_chromium")


def _major(version: str) -> int:
    return int(version.partition(".")[0])


def _is_object(content: bytes) -> bool:
    try:
        return isinstance(json.loads(content), dict)
    except (ValueError, RecursionError):
        return False
