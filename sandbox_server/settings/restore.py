"""The variables of a restore, a section of `settings`. Stdlib only, for the sake of boot."""

import posixpath
from dataclasses import dataclass
from urllib.parse import urlsplit

from sandbox_server.settings.kinds import SECRET, Kind, Secret, seconds, variable

DIGEST = "sha256="


def _read_source(text: str) -> Secret:
    """Check `PLACE#sha256=DIGEST`. A URL may hold a signature, so the whole is a secret."""
    place, _, fragment = text.rpartition("#")
    digest = fragment.removeprefix(DIGEST)
    if not fragment.startswith(DIGEST) or len(digest) != 64 or digest.strip("0123456789abcdef"):
        raise ValueError("must end with #sha256= and 64 lower-case hexadecimal digits")
    if not (_is_url(place) or (place.startswith("/") and posixpath.normpath(place) == place)):
        raise ValueError("must begin with an http(s) URL without a user, or an absolute path without '..'")
    return Secret(text)


def _is_url(place: str) -> bool:
    try:
        address = urlsplit(place)
        named = address.scheme in ("http", "https") and bool(address.hostname) and "@" not in address.netloc and address.port != 0
    except ValueError:
        return False
    return named and place.isascii() and place.isprintable() and " " not in place


def _read_header(text: str) -> Secret:
    if not text.isascii() or not text.isprintable():
        raise ValueError("must be one line of printable ASCII")
    return Secret(text)


SOURCE = Kind("URL or path, and digest", _read_source, secret=True)
HEADER = Kind("header", _read_header, secret=True)


@dataclass(frozen=True, slots=True)
class RestoreSettings:
    """Starting from a fork of another sandbox"""

    source: Secret | None = variable(
        "SANDBOX_RESTORE",
        SOURCE,
        None,
        "The fork to start from: `URL#sha256=DIGEST` or `/path#sha256=DIGEST`. Boot stops if it cannot; see "
        "[checkpoints.md](checkpoints.md#start-another-sandbox-from-a-checkpoint).",
    )
    authorization: Secret | None = variable(
        "SANDBOX_RESTORE_AUTHORIZATION", HEADER, None, "The header `Authorization` for it, such as `Bearer TOKEN`."
    )
    passphrase: Secret | None = variable("SANDBOX_RESTORE_PASSPHRASE", SECRET, None, "What its profile is encrypted with.")
    timeout: float = variable("SANDBOX_RESTORE_SECONDS", seconds(1, 86400), 600.0, "Seconds for the download, and for unpacking.")

    @property
    def place(self) -> str:
        """The URL or the path, without the digest."""
        return self.source.reveal().rpartition("#")[0] if self.source else ""

    @property
    def sha256(self) -> str:
        """The digest, in hexadecimal digits."""
        return self.source.reveal().rpartition("=")[2] if self.source else ""
