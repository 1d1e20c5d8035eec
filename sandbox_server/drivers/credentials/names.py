"""Callers' names: no two kinds of credential give one, whatever a token's issuer calls its subjects."""

import hashlib
import secrets
from urllib.parse import quote

MAX_NAME_CHARS = 96
OURS = frozenset(
    {"agent", "anyone", "boot", "clock", "invited", "key", "nobody", "nothing", "owner", "sandbox", "shared", "system", "token"},
)
"""What we call callers ourselves, and what stands for nobody in particular."""
_PREFIXES = ("share-", "token:")
_DIGEST_CHARS = 16
_GROUP_CHARS = 8


def bearer_of(caller: str) -> str:
    """A name for whoever uses a ticket that `caller` made: each is somebody of their own in the log.

    Whoever came by a request to a person is known by that request: `invited#3fa91c07-` and something of their own.
    """
    base, _, own = caller.partition("#")
    group, dash, _ = own.partition("-")
    return f"{base}#{group if dash else ''}{dash}{secrets.token_hex(3)}"


def invited_by(handoff: str) -> str:
    """What the names of all begin with who came by the links of a request to a person."""
    return f"invited#{handoff.removeprefix('h-')[:_GROUP_CHARS]}-"


def name_of(subject: str | None) -> str:
    """A token's subject as a caller's name that is safe in a header and in a log line.

    One that is a name of ours has `token:` before it; one that is too long ends with `*` and its hash.
    """
    if subject is None:
        return "token"
    name = quote(subject, safe="@.:-_+|/", errors="surrogatepass")
    name = f"token:{name}" if name in OURS or name.startswith(_PREFIXES) else name
    if len(name) <= MAX_NAME_CHARS:
        return name
    digest = hashlib.sha256(subject.encode("utf-8", "surrogatepass")).hexdigest()[:_DIGEST_CHARS]
    return f"{name[: MAX_NAME_CHARS - _DIGEST_CHARS - 1]}*{digest}"
