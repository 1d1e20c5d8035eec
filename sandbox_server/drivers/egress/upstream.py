"""An upstream proxy: where connections of a rule leave by another network's address."""

from dataclasses import dataclass, field
from urllib.parse import unquote, urlsplit

from sandbox_server.drivers.egress.host_names import parse_host

DEFAULT_PORTS = {"http": 3128, "https": 443, "socks5": 1080}
MAX_CREDENTIAL = 255
"""Limit in bytes of a user or password in SOCKS5 (RFC 1929)."""


@dataclass(frozen=True, slots=True)
class Upstream:
    """A proxy by its URL's parts. The scheme is http, https or socks5."""

    scheme: str
    host: str
    port: int
    user: str = field(default="", repr=False)
    password: str = field(default="", repr=False)


def parse_upstream(url: str) -> Upstream:
    """Parse `scheme://[user:password@]host[:port]`; raises ValueError, which never repeats the URL."""
    try:
        parts = urlsplit(url)
        port = parts.port
    except ValueError:
        raise ValueError("is no URL") from None
    if parts.scheme not in DEFAULT_PORTS:
        raise ValueError(f"must begin with one of {', '.join(f'{scheme}://' for scheme in DEFAULT_PORTS)}")
    if parts.path.strip("/") or parts.query or parts.fragment:
        raise ValueError("must end after the port")
    user, password = unquote(parts.username or ""), unquote(parts.password or "")
    if parts.scheme == "socks5" and max(len(user.encode()), len(password.encode())) > MAX_CREDENTIAL:
        raise ValueError(f"user and password of SOCKS5 have at most {MAX_CREDENTIAL} bytes")
    if any(ord(one) < 32 for one in user + password) or ":" in user:
        raise ValueError("the user holds a colon, or a control character is in the user or the password")
    return Upstream(parts.scheme, str(parse_host(parts.hostname or "")), port or DEFAULT_PORTS[parts.scheme], user, password)
