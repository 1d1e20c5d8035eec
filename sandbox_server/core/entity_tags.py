"""Conditional requests: `If-Match` and `If-None-Match` held against the entity tag of what is there (RFC 9110, section 13.1)."""

from collections.abc import Mapping

from sandbox_server.core.errors import PreconditionFailed, PreconditionRequired

ANY_VERSION = "*"
_WEAK = "W/"


def asked_version(headers: Mapping[str, str], parameter: str | None = None) -> str | None:
    """Return the header `If-Match`, else the parameter of clients that cannot send headers. An empty one says nothing: None."""
    return headers.get("if-match", "").strip() or (parameter or "").strip() or None


def require_version(asked: str | None, etag: str, thing: str) -> None:
    """Raise PreconditionRequired unless a version is asked for, and PreconditionFailed unless it is the one that is there."""
    if asked is None:
        raise PreconditionRequired(f"send If-Match with the ETag of the {thing} that you have read, or * for any", etag=etag)
    if asked != ANY_VERSION and etag not in _entity_tags(asked):
        raise PreconditionFailed(f"the {thing} was changed since you read it", etag=etag)


def is_not_modified(headers: Mapping[str, str], etag: str) -> bool:
    """Whether `If-None-Match` names the version that is there. A weak tag names it too."""
    known = headers.get("if-none-match", "").strip()
    return known == ANY_VERSION or etag in (tag.removeprefix(_WEAK) for tag in _entity_tags(known))


def _entity_tags(field: str) -> list[str]:
    """Return the tags of a list, each with its quotes and `W/`. A list that is malformed has none."""
    outside, tags = field.split('"')[::2], field.split('"')[1::2]
    before = [each.strip(" \t,") for each in outside]
    if len(outside) == len(tags) or before[-1] or any(each not in ("", _WEAK) for each in before):
        return []
    return [f'{weak}"{tag}"' for weak, tag in zip(before, tags, strict=False)]
