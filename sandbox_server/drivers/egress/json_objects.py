"""JSON objects as the policy and the broker read them: each field once, and places in them by JSON pointer (RFC 6901)."""

from typing import Any


def unique_fields(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Make an object of its fields, as the `object_pairs_hook` of `json.loads`; raises ValueError for a field that is there twice."""
    found = dict(pairs)
    if len(found) < len(pairs):
        raise ValueError("an object has a field twice")
    return found


def pointer_token(name: str) -> str:
    """Return a field's name as a part of a JSON pointer."""
    return name.replace("~", "~0").replace("/", "~1")
