"""The files by which programs in the box trust the sandbox's own authority, beside the authorities of the image."""

import os
from contextlib import suppress
from pathlib import Path

from sandbox_server.drivers.storage import atomic_write

BUNDLE = "ca-certificates.crt"
AUTHORITY = "authority.pem"
SYSTEM_BUNDLE = "/etc/ssl/certs/ca-certificates.crt"
READABLE = 0o644


class TrustFiles:
    """A directory that the box sees read-only: the authority alone, and a bundle of it and of the image's authorities."""

    def __init__(self, folder: str, system: str = SYSTEM_BUNDLE) -> None:
        self._folder = folder
        self._system = system

    @property
    def bundle(self) -> str:
        """The path of the bundle."""
        return f"{self._folder}/{BUNDLE}"

    @property
    def authority(self) -> str:
        """The path of the authority's certificate."""
        return f"{self._folder}/{AUTHORITY}"

    def trust(self, pem: str | None) -> bool:
        """Have programs trust an authority, or none of the sandbox's own; returns whether anything changed. Raises OSError."""
        before = _read(self.authority)
        if before == (pem or "") and os.path.exists(self.bundle):
            return False
        authorities = _read(self._system)
        whole = f"{authorities.rstrip()}\n{pem}" if pem else authorities
        atomic_write.replace(self.bundle, whole, mode=READABLE)
        atomic_write.replace(self.authority, pem or "", mode=READABLE)
        return True

    def environment(self) -> dict[str, str]:
        """Return variables for programs that read no bundle of the system."""
        bundle = (
            "SSL_CERT_FILE",
            "REQUESTS_CA_BUNDLE",
            "CURL_CA_BUNDLE",
            "GIT_SSL_CAINFO",
            "AWS_CA_BUNDLE",
            "PIP_CERT",
            "CARGO_HTTP_CAINFO",
        )
        return {"NODE_EXTRA_CA_CERTS": self.authority, "DENO_CERT": self.authority} | dict.fromkeys(bundle, self.bundle)


def _read(path: str) -> str:
    with suppress(FileNotFoundError):
        return Path(path).read_text(encoding="utf-8", errors="replace")
    return ""
