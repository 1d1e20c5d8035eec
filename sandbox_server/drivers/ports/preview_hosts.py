"""Host names of previews: one host for each port, because another host is another origin."""

from urllib.parse import urlsplit

_LOOPBACK = frozenset({"localhost", "127.0.0.1", "::1"})
_LOCAL_DOMAIN = "preview.localhost"
"""Browsers resolve every name below `localhost` to this machine (RFC 6761, section 6.3)."""


def preview_host(port: int, gateway: str, domain: str | None) -> str | None:
    """Return host and port of a preview, if the gateway is reached as `gateway`; None if no name leads there."""
    host = urlsplit(f"//{gateway}")
    if domain is None and host.hostname not in _LOOPBACK:
        return None
    authority = domain or _LOCAL_DOMAIN
    if ":" not in authority and host.port:
        authority = f"{authority}:{host.port}"
    return f"{port}-{authority}"
