"""The cookie of a signed-in browser. It is never passed to what is behind the gateway, because the agent controls previewed pages.

Over TLS its name begins with `__Host-`, which a browser accepts from this exact host only (RFC 6265bis, section
4.1.3.2). So a page on another name below the same domain, such as a preview, can neither replace nor shadow it.
"""

import hashlib
import math
import re
from itertools import islice

from sandbox_server.drivers.credentials.grants import Grant

NAME = "sandbox_session"
MAX_SEALED = 200
"""Cookies of ours that are looked at in one request: more than a browser keeps for a site."""
_HOST = "__Host-"


def name_for(host: str) -> str:
    """Return the cookie's name. It includes the port, because browsers share cookies between the ports of a host."""
    port = re.search(r":([0-9]{1,5})$", host)
    return f"{NAME}_{port[1]}" if port else NAME


def sealed_in(header: str, *, is_encrypted: bool = False) -> list[str]:
    """Return the values of our cookies in a `Cookie` header, in the browser's order: the longest path first.

    Over TLS only those that this host has certainly set.
    """
    found = (value.strip('"') for name, value in _pairs(header) if _is_ours(name) and (name.startswith(_HOST) or not is_encrypted))
    return list(islice(found, MAX_SEALED))


def may_be_anothers(host: str, domain: str | None) -> bool:
    """Whether a page below the preview domain can set a cookie that a browser sends to `host` without TLS.

    It can for every name below its own parent domain, but not if that is a single label, which browsers treat as
    public.
    """
    above = (domain or "").partition(":")[0].partition(".")[2].lower()
    name = host.partition(":")[0].lower()
    return "." in above and (name == above or name.endswith(f".{above}"))


def without_ours(header: str) -> str:
    """Return the header without our cookies, and without those of other sandboxes on this host."""
    return "; ".join(f"{name}={value}" if value else name for name, value in _pairs(header) if not _is_ours(name))


def set_cookie(sealed: str, grant: Grant, *, host: str, is_encrypted: bool, now: float, is_framed: bool = False) -> str:
    """Return the `Set-Cookie` header that signs a browser in.

    With `is_framed`, only for a frame on another site's page.
    """
    age = "" if grant.expires is None else f"; Max-Age={math.ceil(grant.expires - now)}"
    if not is_encrypted:
        return f"{name_for(host)}={sealed}; Path={grant.prefix}{age}; HttpOnly; SameSite=Lax"
    site = "None; Partitioned" if is_framed else "Lax"
    return f"{_HOST}{name_for(host)}{_suffix(grant.prefix)}={sealed}; Path=/{age}; HttpOnly; SameSite={site}; Secure"


def clear_cookie(host: str, *, is_encrypted: bool = False) -> str:
    """Return the `Set-Cookie` header that signs a browser out."""
    name, secure = (f"{_HOST}{name_for(host)}", "; Secure") if is_encrypted else (name_for(host), "")
    return f"{name}=; Path=/; Max-Age=0; HttpOnly; SameSite=Lax{secure}"


def _suffix(prefix: str) -> str:
    """Return the suffix for a grant with a path.

    A `__Host-` cookie's path is always `/`, so its name tells the grants apart.
    """
    return "" if prefix == "/" else f"_{hashlib.sha256(prefix.encode()).hexdigest()[:8]}"


def _pairs(header: str) -> list[tuple[str, str]]:
    pairs = (pair.strip().partition("=") for pair in header.split(";") if pair.strip())
    return [(name.strip(), value) for name, _, value in pairs]


def _is_ours(name: str) -> bool:
    name = name.removeprefix(_HOST)
    return name == NAME or name.startswith(f"{NAME}_")
