"""Whether a request comes from one of our own pages or from another site (CSRF, cross-site WebSockets)."""

from collections.abc import Container
from urllib.parse import urlsplit

from sandbox_server.features.auth.original import Original

_SAFE = frozenset({"GET", "HEAD", "OPTIONS"})


def is_own(original: Original, *, silence: bool) -> bool:
    """Whether the request may use a credential that the browser adds by itself.

    `Sec-Fetch-Site` decides if present (browsers send it to https and localhost), else `Origin`. `silence` is the
    answer for a changing request without either, which programs send but browsers do not.
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
    """Whether a page of an origin in the settings sent it. Such a page sends its own credential, or needs none."""
    return original.headers.get("origin") in origins


def _is_navigation(original: Original) -> bool:
    """Whether a person followed a link on another site, which shows a page and changes nothing."""
    return original.method == "GET" and original.headers.get("sec-fetch-mode") == "navigate" and not original.upgrades


def _host(original: Original, header: str) -> tuple[str, int] | None:
    return _authority(f"{'https' if original.is_encrypted else 'http'}://{original.headers.get(header, '')}")


def _authority(url: str) -> tuple[str, int] | None:
    """Return host and port; None if there is none, as in `null`.

    Default ports count as equal, because a proxy in front may have ended the TLS.
    """
    try:
        parts = urlsplit(url)
        port = parts.port
    except ValueError:
        return None
    return (parts.hostname, 80 if port in (None, 443) else port) if parts.hostname else None
