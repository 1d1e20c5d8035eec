"""Cookies in the form of Playwright's storage state, which the contract uses."""

from collections.abc import Iterable
from typing import Any, Literal
from urllib.parse import urlsplit

from sandbox_server.drivers.devtools.connection import Object

type SameSite = Literal["Strict", "Lax", "None"]

SESSION = -1
"""The expiry of a session cookie."""
_LOCAL = ("localhost", "127.0.0.1", "[::1]")


def to_storage_state(cookie: Object) -> dict[str, Any]:
    """Convert a cookie of `Storage.getCookies`."""
    made = {name: cookie[name] for name in ("name", "value", "domain", "path")}
    made |= {"expires": SESSION if cookie.get("session") else cookie.get("expires", SESSION)}
    made |= {"httpOnly": cookie.get("httpOnly", False), "secure": cookie.get("secure", False), "sameSite": cookie.get("sameSite", "Lax")}
    if partition := cookie.get("partitionKey"):
        made["partitionKey"] = partition.get("topLevelSite") if isinstance(partition, dict) else partition
    return made


def sent_to(cookies: Iterable[dict[str, Any]], urls: Iterable[str]) -> list[dict[str, Any]]:
    """Return the cookies that a request to one of the URLs would carry (RFC 6265, section 5.4)."""
    parts = [urlsplit(url) for url in urls]
    return [cookie for cookie in cookies if any(_is_sent(cookie, part.scheme, part.hostname or "", part.path or "/") for part in parts)]


def _is_sent(cookie: dict[str, Any], scheme: str, host: str, path: str) -> bool:
    domain = cookie["domain"].lower()
    of_host = host == domain or (domain.startswith(".") and f".{host}".endswith(domain))
    below = path == cookie["path"] or path.startswith(cookie["path"].rstrip("/") + "/")
    return of_host and below and (not cookie["secure"] or scheme == "https" or host in _LOCAL)
