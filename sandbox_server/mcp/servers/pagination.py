"""Pagination of upstream lists: every page within limits, without names that cannot be shown."""

import logging
from collections.abc import Awaitable, Callable
from typing import Any

from mcp_types import Prompt, Tool

MAX_PAGES = 100
MAX_LISTED = 10_000
"""Entries of one list on all its pages. A longer list is an error."""
MAX_LIST_BYTES = 16 << 20
"""Size of one list as JSON."""
MAX_NAME = 128
"""Characters of a tool's or prompt's name: the protocol's limit."""

_log = logging.getLogger(__name__)


async def every_page(ask: Callable[[str | None], Awaitable[Any]], kind: str) -> list[Any]:
    """The entries of all pages, by cursor. Raises ValueError for a list over the limits, and as `ask` does."""
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


def with_valid_names[N: (Tool, Prompt)](listed: list[N], server: str) -> list[N]:
    """The entries with valid names; the others are skipped and counted in the log."""
    found = [each for each in listed if is_name(each.name)]
    if len(found) < len(listed):
        _log.warning("the MCP server %s lists %d names that cannot be shown", server, len(listed) - len(found))
    return found


def is_name(name: str) -> bool:
    """Whether a name is one word of printable characters."""
    return 0 < len(name) <= MAX_NAME and name.isprintable() and " " not in name
