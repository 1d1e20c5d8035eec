"""Text diff: what changed between two texts, for agents that want to see it before they write a file."""

import asyncio
import difflib

from sandbox_server.core import Model, TooLarge, operation

MAX_CHARS = 1_000_000
"""Of both texts together; comparing takes longer than linear time."""


class DiffRequest(Model):
    old: str
    new: str
    name: str = "text"
    """What the diff calls the two texts, for example a path."""
    context: int = 3
    """Unchanged lines around each change."""


class Diff(Model):
    diff: str
    """Unified diff; empty if the texts are equal."""
    added: int
    """Lines that only the new text has."""
    removed: int
    """Lines that only the old text has."""


class TextDiff:
    """Compares texts."""

    tag = "text"

    @operation("POST /v1/text/diff", scope="files", tool="text_diff", read_only=True)
    async def diff_texts(self, request: DiffRequest) -> Diff:
        """Compare two texts line by line."""
        if len(request.old) + len(request.new) > MAX_CHARS:
            raise TooLarge(f"the texts may have {MAX_CHARS} characters together", limit=MAX_CHARS)
        lines = await asyncio.to_thread(_compare, request)
        changes = lines[2:]
        return Diff(diff="".join(lines), added=_count(changes, "+"), removed=_count(changes, "-"))


def _compare(request: DiffRequest) -> list[str]:
    old, new = (text.splitlines(keepends=True) for text in (request.old, request.new))
    found = difflib.unified_diff(old, new, f"a/{request.name}", f"b/{request.name}", n=request.context)
    return [line if line.endswith("\n") else f"{line}\n\\ No newline at end of file\n" for line in found]


def _count(changes: list[str], sign: str) -> int:
    return sum(line.startswith(sign) for line in changes)
