"""Copies the owner's key of the identity to where the user control may read it: the owner's file may be root's alone."""

import os
import stat

from sandbox_server.drivers.storage import atomic_write
from sandbox_server.settings import BadSettings, Settings

MAX_BYTES = 64 << 10
_MODE = 0o400


def prepare(settings: Settings) -> None:
    """Copy the file, if one is set. Raises BadSettings if it cannot be used."""
    path = settings.identity.key_file
    if path is None:
        return
    control = (settings.users.control_uid, settings.users.control_uid)
    atomic_write.replace(settings.paths.identity_key, _read(path), mode=_MODE, owner=control)


def _read(path: str) -> bytes:
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)
        with open(descriptor, "rb") as file:
            regular = stat.S_ISREG(os.fstat(descriptor).st_mode)
            found = file.read(MAX_BYTES + 1) if regular else b""
    except OSError as error:
        raise BadSettings(f"IDENTITY_KEY_FILE cannot be read: {error.strerror}") from None
    if not found.lstrip().startswith(b"-----BEGIN ") or b"PRIVATE KEY" not in found or len(found) > MAX_BYTES:
        raise BadSettings(f"IDENTITY_KEY_FILE must be a PEM file of at most {MAX_BYTES} bytes that begins with a private key")
    return found
