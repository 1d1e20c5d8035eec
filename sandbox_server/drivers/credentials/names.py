"""Names of callers. Two kinds of credential never give the same name, whatever subjects an issuer uses."""

import hashlib
import secrets
from urllib.parse import quote

MAX_NAME_CHARS = 96
OURS = frozenset(
    {"agent", "anyone", "boot", "clock", "invited", "key", "nobody", "nothing", "owner", "sandbox", "shared", "system", "token"},
)
"""Names that the sandbox itself uses, and names that mean nobody in particular."""
_PREFIXES = ("share-", "token:")
_DIGEST_CHARS = 16
_GROUP_CHARS = 8


def bearer_of(caller: str) -> str:
    """Return a name for the bearer of a ticket that `caller` made. Each bearer has its own, for the log.

    A person invited to a handoff is named after it: `invited#3fa91c07-` and a suffix.
    """
    base, _, own = caller.partition("#")
    group, dash, _ = own.partition("-")
    return f"{base}#{group if dash else ''}{dash}{secrets.token_hex(3)}"


def invited_by(handoff: str) -> str:
    """Return the prefix of the names of all persons who used a handoff's links."""
    return f"invited#{handoff.removeprefix('h-')[:_GROUP_CHARS]}-"


def name_of(subject: str | None) -> str:
    """Return a token's subject as a caller's name that is safe in a header and in a log line.

    A subject that is one of our names gets the prefix `token:`. A long one is cut and ends with `*` and its hash.
    """
    if subject is None:
        return "token"
    name = quote(subject, safe="@.:-_+|/", errors="surrogatepass")
    name = f"token:{name}" if name in OURS or name.startswith(_PREFIXES) else name
    if len(name) <= MAX_NAME_CHARS:
        return name
    digest = hashlib.sha256(subject.encode("utf-8", "surrogatepass")).hexdigest()[:_DIGEST_CHARS]
    return f"{name[: MAX_NAME_CHARS - _DIGEST_CHARS - 1]}*{digest}"
