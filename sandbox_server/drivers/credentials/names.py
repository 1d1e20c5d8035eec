"""Names of callers. Two kinds of credential never give the same name, whatever subjects an issuer uses."""

import hashlib
import secrets
import unicodedata
from urllib.parse import quote

MAX_NAME_CHARS = 96
OURS = frozenset(
    {
        "agent",
        "anyone",
        "boot",
        "clock",
        "desktop",
        "guest",
        "invited",
        "key",
        "nobody",
        "nothing",
        "owner",
        "sandbox",
        "shared",
        "system",
        "token",
    }
)
"""Names that the sandbox itself uses, and names that mean nobody in particular."""
_AGENT_KEY = "agent-key-"
_OWNERS = frozenset({"key", "owner"})
GUEST = "guest"
"""The name of everybody who came by an invitation and said no name."""
MAX_GUEST_CHARS = 40
_MAX_QUOTED_CHARS = 120
_PREFIXES = ("share-", "token:", f"{GUEST}:", _AGENT_KEY)
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


def agent_of(key_id: str) -> str:
    """Return the name of the program that has an agent key."""
    return f"{_AGENT_KEY}{key_id}"


def is_agents(caller: str) -> bool:
    """Whether a caller came by an agent key, or by a ticket that was made with one."""
    return caller.startswith(_AGENT_KEY)


def is_owner(caller: str) -> bool:
    """Whether a caller came by the sandbox's own key or by the link that it printed, or was let in by one who did."""
    return caller.partition("#")[0] in _OWNERS


def guest_of(name: str) -> str:
    """Return the name of a guest, such as `guest:Mia`, as a caller's name that is safe in a header and in a log line.

    Raises ValueError for a name that is empty, too long, or has characters that do not show.
    """
    clean = unicodedata.normalize("NFC", " ".join(name.split()))
    quoted = quote(clean, safe="")
    if not clean or not clean.isprintable():
        raise ValueError("a name has letters, and nothing that does not show")
    if len(clean) > MAX_GUEST_CHARS or len(quoted) > _MAX_QUOTED_CHARS:
        raise ValueError(f"a name has at most {MAX_GUEST_CHARS} letters, of many scripts fewer")
    return f"{GUEST}:{quoted}"


def is_guest(caller: str) -> bool:
    """Whether a caller came by an invitation."""
    return caller.startswith((f"{GUEST}#", f"{GUEST}:"))


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
