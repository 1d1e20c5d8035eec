"""Whether a browser sends a request for one of our own pages, or for somebody else's (CSRF, cross-site WebSockets)."""

from collections.abc import Container
from urllib.parse import urlsplit

from sandbox_server.features.auth.original import Original

_SAFE = frozenset({"GET", "HEAD", "OPTIONS"})


def is_own(original: Original, *, silence: bool) -> bool:
    """Whether the request may use a credential that the browser adds by itself.

    `Sec-Fetch-Site` decides where the browser sends it (it does to https and to localhost), else `Origin`.
    `silence` is the answer for a request that changes something and has neither: no browser sends one, a program may.
    """
    site = original.headers.get("sec-fetch-site")
    if site is not None:
        return site in ("same-origin", "none") or _is_navigation(original)
    origin = original.headers.get("origin")
    if origin is not None:
        sender = _authority(origin)
        return sender is not None and sender in (_host(original, "host"), _host(original, "x-forwarded-host"))
    return silence or (original.method in _SAFE and not original.upgrades)


def is_allowed(original: Original, origins: Container[str]) -> bool:
    """Whether a page of an origin that the settings name sends it: it brings a credential of its own, or needs none."""
    return original.headers.get("origin") in origins


def _is_navigation(original: Original) -> bool:
    """A link on another site that a person followed: it shows something and changes nothing."""
    return original.method == "GET" and original.headers.get("sec-fetch-mode") == "navigate" and not original.upgrades


def _host(original: Original, header: str) -> tuple[str, int] | None:
    return _authority(f"{'https' if original.is_encrypted else 'http'}://{original.headers.get(header, '')}")


def _authority(url: str) -> tuple[str, int] | None:
    """Host and port; None where there is none, as in `null`. Default ports are all one: a proxy before us may have ended the TLS."""
    try:
        parts = urlsplit(url)
        port = parts.port
    except ValueError:
        return None
    return (parts.hostname, 80 if port in (None, 443) else port) if parts.hostname else None
