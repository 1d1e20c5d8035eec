"""The cookie of a signed-in browser. Ours never reach what is behind the gateway: a previewed page is the agent's.

Over TLS its name begins with `__Host-`, which a browser takes from nobody but this very host (RFC 6265bis, section 4.1.3.2): a page on
another name below the same domain, as a preview may be, can neither replace it nor put one of its own before it.
"""

import hashlib
import math
import re

from sandbox_server.drivers.credentials.grants import Grant

NAME = "sandbox_session"
_HOST = "__Host-"


def name_for(host: str) -> str:
    """The cookie's name. It holds the port, because browsers share cookies between the ports of a host."""
    port = re.search(r":([0-9]{1,5})$", host)
    return f"{NAME}_{port[1]}" if port else NAME


def sealed_in(header: str, *, is_encrypted: bool = False) -> list[str]:
    """The values of our cookies in a `Cookie` header, the one with the longest path first, as browsers send them.

    Over TLS only those that are this host's for sure.
    """
    return [value.strip('"') for name, value in _pairs(header) if _is_ours(name) and (name.startswith(_HOST) or not is_encrypted)]


def may_be_anothers(host: str, domain: str | None) -> bool:
    """Whether a page below the domain of previews can have a browser send a cookie of its making to `host`, where that has no TLS.

    It can for every name below the one above its own, but not for one of a single label, which browsers hold for public.
    """
    above = (domain or "").partition(":")[0].partition(".")[2].lower()
    name = host.partition(":")[0].lower()
    return "." in above and (name == above or name.endswith(f".{above}"))


def without_ours(header: str) -> str:
    """The header with every cookie of ours left out, those of other sandboxes on this host too."""
    return "; ".join(f"{name}={value}" if value else name for name, value in _pairs(header) if not _is_ours(name))


def set_cookie(sealed: str, grant: Grant, *, host: str, is_encrypted: bool, now: float, is_framed: bool = False) -> str:
    """The `Set-Cookie` header that signs a browser in; `is_framed`: in a frame on another site's page, and nowhere else."""
    age = "" if grant.expires is None else f"; Max-Age={math.ceil(grant.expires - now)}"
    if not is_encrypted:
        return f"{name_for(host)}={sealed}; Path={grant.prefix}{age}; HttpOnly; SameSite=Lax"
    site = "None; Partitioned" if is_framed else "Lax"
    return f"{_HOST}{name_for(host)}{_suffix(grant.prefix)}={sealed}; Path=/{age}; HttpOnly; SameSite={site}; Secure"


def clear_cookie(host: str, *, is_encrypted: bool = False) -> str:
    """The `Set-Cookie` header that signs a browser out."""
    name, secure = (f"{_HOST}{name_for(host)}", "; Secure") if is_encrypted else (name_for(host), "")
    return f"{name}=; Path=/; Max-Age=0; HttpOnly; SameSite=Lax{secure}"


def _suffix(prefix: str) -> str:
    """Such a cookie's path is always `/`; what the grant is for makes it another cookie."""
    return "" if prefix == "/" else f"_{hashlib.sha256(prefix.encode()).hexdigest()[:8]}"


def _pairs(header: str) -> list[tuple[str, str]]:
    pairs = (pair.strip().partition("=") for pair in header.split(";") if pair.strip())
    return [(name.strip(), value) for name, _, value in pairs]


def _is_ours(name: str) -> bool:
    name = name.removeprefix(_HOST)
    return name == NAME or name.startswith(f"{NAME}_")
