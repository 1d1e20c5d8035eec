"""The cookie of a signed-in browser. Ours never reach what is behind the gateway: a previewed page is the agent's."""

import math
import re

from sandbox_server.drivers.credentials.grants import Grant

NAME = "sandbox_session"


def name_for(host: str) -> str:
    """The cookie's name. It holds the port, because browsers share cookies between the ports of a host."""
    port = re.search(r":([0-9]{1,5})$", host)
    return f"{NAME}_{port[1]}" if port else NAME


def sealed_in(header: str) -> list[str]:
    """The values of our cookies in a `Cookie` header, the one with the longest path first, as browsers send them."""
    return [value.strip('"') for name, value in _pairs(header) if _is_ours(name)]


def without_ours(header: str) -> str:
    """The header with every cookie of ours left out, those of other sandboxes on this host too."""
    return "; ".join(f"{name}={value}" if value else name for name, value in _pairs(header) if not _is_ours(name))


def set_cookie(sealed: str, grant: Grant, *, host: str, is_encrypted: bool, now: float) -> str:
    """The `Set-Cookie` header that signs a browser in."""
    age = "" if grant.expires is None else f"; Max-Age={math.ceil(grant.expires - now)}"
    secure = "; Secure" if is_encrypted else ""
    return f"{name_for(host)}={sealed}; Path={grant.prefix}{age}; HttpOnly; SameSite=Lax{secure}"


def clear_cookie(host: str) -> str:
    """The `Set-Cookie` header that signs a browser out."""
    return f"{name_for(host)}=; Path=/; Max-Age=0; HttpOnly; SameSite=Lax"


def _pairs(header: str) -> list[tuple[str, str]]:
    pairs = (pair.strip().partition("=") for pair in header.split(";") if pair.strip())
    return [(name.strip(), value) for name, _, value in pairs]


def _is_ours(name: str) -> bool:
    return name == NAME or name.startswith(f"{NAME}_")
