"""Prepares the egress process: its directory, and the policy that it starts with."""

import os
import stat

from sandbox_server.boot import places, trusted_files
from sandbox_server.drivers.egress.default_policy import DEFAULT_POLICY
from sandbox_server.drivers.storage import atomic_write
from sandbox_server.settings import BadSettings, Settings

VARIABLE = "EGRESS_POLICY"
MAX_POLICY_BYTES = 8 << 20
"""What is read of a file; the policy's own limit is no greater."""


def prepare(settings: Settings) -> None:
    """Make the directory. Write the policy, unless one of an earlier start of this container came from the same source.

    Raises BadSettings where the policy cannot be used.
    """
    owner = (settings.users.egress_uid, settings.users.control_uid)
    folder = settings.paths.egress
    places.make_directory(folder, 0o2750, owner)
    source, start = source_of(settings), f"{folder}/start.json"
    if os.path.exists(settings.paths.egress_policy) and _content(start) == source:
        return
    atomic_write.replace(settings.paths.egress_policy, source, mode=0o640, owner=owner)
    atomic_write.replace(start, source, mode=0o640, owner=owner)


def source_of(settings: Settings) -> str:
    """Return the policy of the settings, the default one where they have none. Raises BadSettings."""
    configured = settings.egress.policy
    if configured is None:
        return DEFAULT_POLICY
    from sandbox_server.drivers.egress.policy_document import EgressPolicyError, parse_policy  # slow imports, which few starts need

    text = configured.reveal()
    content = text if text.startswith("{") else _read(text, settings)
    try:
        parse_policy(content)
    except EgressPolicyError as error:
        raise BadSettings("\n".join(f"{VARIABLE}{pointer} {message}" for pointer, message in error.errors)) from None
    return content


def _read(path: str, settings: Settings) -> str:
    """Read the file of a policy, which nothing in the box may be able to write."""
    try:
        with open(path, "rb") as file:
            status = os.fstat(file.fileno())
            if not stat.S_ISREG(status.st_mode):
                raise BadSettings(f"{VARIABLE} names {path}, which is no regular file")
            content = file.read(MAX_POLICY_BYTES + 1)
        trusted_files.require_unwritable(VARIABLE, path, settings)
        return content.decode()
    except OSError as error:
        raise BadSettings(f"{VARIABLE} names {path}, which cannot be read: {error.strerror}") from None
    except UnicodeDecodeError:
        raise BadSettings(f"{VARIABLE} names {path}, which is not UTF-8") from None


def _content(path: str) -> str | None:
    try:
        with open(path, encoding="utf-8") as file:
            return file.read()
    except OSError:
        return None
