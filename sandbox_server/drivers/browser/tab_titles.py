"""Titles of tabs, told from those that the browser makes up for pages without one."""

from urllib.parse import unquote

_PUNYCODE = "xn--"
_ELIDED = "\u2026"


def made_of(title: str, url: str) -> bool:
    """Whether a tab's title may be the browser's own writing of an address: a part of it, unquoted, in Unicode, or cut."""
    return _PUNYCODE in url.lower() or _ELIDED in title or unquote(title) in unquote(url)
