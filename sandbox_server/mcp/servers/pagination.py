"""What a server lists: all its pages, within bounds, and of names those that an agent can be shown."""

import logging
from collections.abc import Awaitable, Callable
from typing import Any

from mcp_types import Prompt, Tool

MAX_PAGES = 100
MAX_LISTED = 10_000
"""Entries of one list, on all its pages; a server with more is not listed at all."""
MAX_LIST_BYTES = 16 << 20
"""Of one list, as JSON."""
MAX_NAME = 128
"""Characters of a tool's or prompt's name, as the protocol has it."""

_log = logging.getLogger(__name__)


async def every_page(ask: Callable[[str | None], Awaitable[Any]], kind: str) -> list[Any]:
    """The entries of a list whose pages are asked for by their cursors. Raises ValueError for one that is too long, and as `ask` does."""
    found: list[Any] = []
    cursor: str | None = None
    size = 0
    for _ in range(MAX_PAGES):
        page = await ask(cursor)
        found += getattr(page, kind)
        size += len(page.model_dump_json())
        if len(found) > MAX_LISTED or size > MAX_LIST_BYTES:
            raise ValueError(f"there are more than {MAX_LISTED}, or they take more than {MAX_LIST_BYTES} bytes")
        cursor = page.next_cursor
        if cursor is None:
            return found
    raise ValueError(f"they fill more than {MAX_PAGES} pages")


def callable_of[N: (Tool, Prompt)](listed: list[N], server: str) -> list[N]:
    """Those whose names can be shown and typed; the log says how many are left out."""
    found = [each for each in listed if is_name(each.name)]
    if len(found) < len(listed):
        _log.warning("the MCP server %s gives %d names that cannot be shown", server, len(listed) - len(found))
    return found


def is_name(name: str) -> bool:
    """Whether a name is one word, of letters that are there to see."""
    return 0 < len(name) <= MAX_NAME and name.isprintable() and " " not in name
