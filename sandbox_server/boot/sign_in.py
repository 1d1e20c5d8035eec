"""The sign-in link: it works once, and its holder gets every scope."""

import secrets
import sys
from pathlib import Path

from sandbox_server import __version__
from sandbox_server.core import ALL_SCOPES
from sandbox_server.drivers.credentials.grants import Grant
from sandbox_server.drivers.credentials.keyring import Keyring
from sandbox_server.drivers.credentials.tickets import Tickets
from sandbox_server.settings import Settings

LINK_SECONDS = 3600.0
"""Seconds until an unused link expires."""


def create(settings: Settings, url: str) -> str:
    """Make a sign-in link to the gateway at `url`; an empty `url` means this machine's own port."""
    base = url.rstrip("/") or f"http://localhost:{settings.gateway.port}"
    if settings.auth.mode == "off":
        return f"{base}/"
    keyring = Keyring(settings.paths.run, settings.paths.agent_run)
    owner = Grant(f"owner#{secrets.token_hex(3)}", ALL_SCOPES)
    ticket = Tickets(keyring.tickets).create(owner, LINK_SECONDS, person=True)
    return f"{base}/?ticket={ticket}"


def announce(settings: Settings) -> None:
    """Print the address of the sandbox, once for each start of the container."""
    try:
        Path(settings.paths.announcement).unlink()
    except FileNotFoundError:
        return
    said = "open, once, within the hour" if settings.auth.mode == "on" else "AUTH=off: open to everyone who reaches it"
    sys.stdout.write(f"sandbox {__version__}; {said}: {create(settings, '')}\n")
    sys.stdout.flush()
