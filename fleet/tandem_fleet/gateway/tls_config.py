"""What Caddy is told of certificates: files, or an authority that it asks for one when a name is first used (ACME)."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

Json = dict[str, Any]


@dataclass(frozen=True)
class Files:
    """PEM files."""

    chain: Path
    key: Path


@dataclass(frozen=True)
class Acme:
    """An authority: Let's Encrypt unless there is a `directory`."""

    email: str
    directory: str = ""
    """Its directory's URL."""
    root: Path | None = None
    """PEM file with the certificate that its own server is verified by."""


def tls_of_files(files: Files) -> Json:
    """The application `tls` with a certificate of files."""
    return {"certificates": {"load_files": [{"certificate": str(files.chain), "key": str(files.key)}]}}


def tls_of_acme(acme: Acme, port: int, question: str) -> Json:
    """The application `tls` with certificates of an authority, each for one name, made when somebody first connects by that name.

    The authority connects to port 443, which has to lead to `port`. A name gets a certificate if the URL `question` says so.
    """
    solved = {"http": {"disabled": True}, "tls-alpn": {"alternate_port": port}}
    issuer: Json = {"module": "acme", "email": acme.email, "challenges": solved}
    if acme.directory:
        issuer["ca"] = acme.directory
    if acme.root:
        issuer["trusted_roots_pem_files"] = [str(acme.root)]
    automation = {
        "policies": [{"issuers": [issuer], "on_demand": True}],
        "on_demand": {"permission": {"module": "http", "endpoint": question}},
    }
    return {"automation": automation}
