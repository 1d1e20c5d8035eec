"""What of a text may be written down: secrets that are known are taken out of it, and what looks like one."""

from collections.abc import Iterable
from urllib.parse import parse_qsl, urlsplit

from sandbox_server import patterns

MAX_TEXT = 1000
"""Characters of a text that are kept."""
MAX_URL = 16 << 10
"""Characters of an address that are looked at."""
MAX_NAMES = 100
"""Parameters of an address; of one with more no name is told."""
OUTPUT_LOOKED_AT = 64 << 10
"""Characters of an output that are looked at, the last ones."""
OUTPUT_MARGIN = 16 << 10
"""Of these, where more was written, the first that are dropped: a key may have begun before them, and none is longer."""
MAX_VALUES = 100
REDACTED = "***"
MIN_SECRET = 6
"""Characters that a known secret has at least, to be looked for."""
MIN_TYPED = 3
"""The same of a secret that a command names."""

TAIL = 256
"""Characters that are left out before a cut: in them a secret may have begun that does not show as one without its end."""
_RANDOM_LENGTH = 24

_NAMED = patterns.compile(
    r"(?i)((?:passw(?:or)?d|passphrase|passwd|secret|token|api[_-]?key|access[_-]?key|private[_-]?key|credentials?|auth|cookie)"
    r"[\w.-]*[\"']?\s*[=:]\s*)"
    r"(?:\"[^\"\n]*\"|'[^'\n]*'|(?:bearer|basic|token)\s+[^\s\"']+|[^\s\"';&|,)]+)"
)
_OPTION = patterns.compile(
    r"(?i)(-[\w-]*(?:password|passphrase|passwd|secret|token|api-?key|credentials?|auth|cookie)\s+)(?:\"[^\"\n]*\"|'[^'\n]*'|[^\s-]\S*)"
)
_USER = patterns.compile(r"((?:^|\s)(?:-u|--user)[\s=]*[\"']?[^\s:\"']+:)[^\s\"']+")
_BEARER = patterns.compile(r"(?i)\b((?:bearer|basic)\s)\s*[\w.~+/=-]{6,}")
_ADDRESS = patterns.compile(r"(?i)\b([a-z][a-z0-9+.-]*://)[^\s/@'\"]+@")
_SHAPED = patterns.compile(
    r"\b(?:eyJ[\w-]{8,}\.[\w-]+\.[\w-]*|sk-[\w-]{16,}|(?:gh[pousr]|github_pat)_\w{16,}|glpat-[\w-]{16,}|xox[abprs]-[\w-]{10,}"
    r"|A(?:KIA|SIA)[A-Z0-9]{16}|AIza[\w-]{30,}|npm_\w{30,}|hf_\w{20,})"
)
_BLOCK = patterns.compile(r"(?s)-----BEGIN [A-Z ]*PRIVATE KEY-----.*?(?:-----END [A-Z ]*PRIVATE KEY-----|\z)")
_HASH = patterns.compile(r"\$(?:1|2[abxy]|5|6|7|y|argon2[a-z]*)\$[^\s:\"']{8,}")
_ENCODED = patterns.compile(r"(?:^|\n)(?:[ \t]*[A-Za-z0-9+/]{40,}={0,2}[ \t]*\r?(?:\n|\z)){2,}")
_MIXED = patterns.compile(rf"[\w+-]{{{_RANDOM_LENGTH},}}={{0,2}}")
_BASE64 = patterns.compile(r"[A-Za-z0-9+/]{32,}={0,2}")
_RANDOM = patterns.compile(rf"[\w-]{{{_RANDOM_LENGTH},}}")


class Redaction:
    """Knows `secrets`: no text that it lets through holds one of them."""

    def __init__(self, secrets: Iterable[str] = ()) -> None:
        self._learned: set[str] = set()
        self.learn(secrets)

    def learn(self, secrets: Iterable[str]) -> None:
        """Take these out as well from now on."""
        self._learned |= {secret for secret in secrets if len(secret) >= MIN_SECRET}
        longest_first = sorted(self._learned, key=len, reverse=True)
        self._secrets = patterns.compile("|".join(map(patterns.escape, longest_first))) if longest_first else None
        self._tail = max(TAIL, *(len(secret) for secret in longest_first), 0)

    def text(self, text: str, limit: int = MAX_TEXT) -> str:
        """A command, a note or the like, without what is or looks like a secret, in at most `limit` characters; `…` is where it was cut."""
        looked_at = 4 * limit + self._tail
        kept = self._without(text[:looked_at])
        if len(text) > looked_at:
            kept = f"{kept[: -self._tail]}…"
        return kept if len(kept) <= limit else f"{kept[: limit - 1]}…"

    def output(self, written: str, typed: str = "", limit: int = MAX_TEXT) -> str:
        """The end of what a command wrote, in at most `limit` characters; `…` is where it was cut.

        Beside what `text` takes out, it loses the secrets that the command `typed` holds, and whatever looks random: hashes, keys, ids.
        """
        kept = _ENCODED.sub(f"\n{REDACTED}\n", self._without(written[-OUTPUT_LOOKED_AT:]))
        for value in self.secrets_in(typed):
            kept = kept.replace(value, REDACTED)
        for shape in (_HASH, _BASE64, _MIXED):
            kept = shape.sub(_unless_a_word, kept)
        if len(written) > OUTPUT_LOOKED_AT:
            kept = f"…{kept[OUTPUT_MARGIN:]}"
        kept = kept.strip("\n")
        return kept if len(kept) <= limit else f"…{kept[1 - limit :]}"

    def secrets_in(self, text: str) -> list[str]:
        """What a command holds that is named as a secret or looks like one, the longest first."""
        found: set[str] = set()
        for named in (_NAMED, _OPTION, _USER, _BEARER, _SHAPED):
            for each in named.finditer(text[:MAX_URL]):
                found.add(each[0].removeprefix(each[1] if named is not _SHAPED else "").strip("\"'"))
                if len(found) >= MAX_VALUES:
                    break
        return sorted((value for value in found if len(value) >= MIN_TYPED), key=len, reverse=True)

    def url(self, url: str, limit: int = 300) -> str:
        """An address without name and password, the values of its query, its fragment, and parts of the path that look random."""
        try:
            parts = urlsplit(url[:MAX_URL])
        except ValueError:
            return "(no address)"
        if parts.scheme not in ("http", "https", "file", "ws", "wss"):
            return f"{parts.scheme}:{parts.path}"[:limit] if parts.scheme in ("about", "chrome") else f"{parts.scheme}:…"
        host = parts.netloc.rpartition("@")[2]
        path = "/".join(REDACTED if _looks_random(part) else part for part in parts.path.split("/"))
        names = "&".join(f"{name}=…" for name, _ in _query(parts.query))
        told = self._known(f"{parts.scheme}://{host}{path}{'?' if names else ''}{names}")
        if len(url) > MAX_URL:
            told = f"{told[: -self._tail]}…"
        return told if len(told) <= limit else f"{told[: limit - 1]}…"

    def _without(self, text: str) -> str:
        text = _BLOCK.sub(REDACTED, self._known(text))
        text = _ADDRESS.sub(lambda found: f"{found[1]}{REDACTED}@", text)
        for named in (_NAMED, _OPTION, _USER, _BEARER):
            text = named.sub(lambda found: f"{found[1]}{REDACTED}", text)
        return _SHAPED.sub(REDACTED, text)

    def _known(self, text: str) -> str:
        return self._secrets.sub(REDACTED, text) if self._secrets else text


def _query(query: str) -> list[tuple[str, str]]:
    try:
        return parse_qsl(query, keep_blank_values=True, max_num_fields=MAX_NAMES)
    except ValueError:
        return [("…", "")]


def _looks_random(part: str) -> bool:
    """Whether a part of a path is long and mixed, as a link that signs in has one."""
    return _RANDOM.fullmatch(part) is not None and any(map(str.isdigit, part)) and any(map(str.isalpha, part))


def _unless_a_word(found: patterns.Match[str]) -> str:
    """A long word as it is; three stars for one that mixes letters and digits, as a key or a hash does; a path has capitals, too, if so."""
    text: str = found[0]
    mixed = any(map(str.isdigit, text)) and any(map(str.isalpha, text))
    path = "/" in text and not (any(map(str.isupper, text)) and any(map(str.islower, text)))
    return REDACTED if mixed and not path else text
