"""Hints of several causes in one answer."""


def join_hints(*hints: str | None) -> str | None:
    """Join sentences for the caller; None where there is none."""
    return "; ".join(hint for hint in hints if hint) or None
