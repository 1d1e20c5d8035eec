"""The agent's account: sets its name, ids and right to become root from the settings."""

import os
import pwd
import subprocess
from contextlib import suppress
from pathlib import Path
from typing import Protocol

from sandbox_server.drivers.storage import atomic_write
from sandbox_server.settings import AgentSettings

IMAGE_USER = "gem"
"""The account's name in the image."""
SUDOERS = Path("/etc/sudoers.d/agent")


class Entry(Protocol):
    """The fields of a line of /etc/passwd (passwd(5)) that are used here."""

    @property
    def pw_name(self) -> str: ...
    @property
    def pw_uid(self) -> int: ...
    @property
    def pw_gid(self) -> int: ...


def prepare(agent: AgentSettings) -> None:
    """Give the agent's account its name, ids and rights. Needs root. After a restart it changes nothing."""
    for command in changes(_current(agent.user), agent):
        subprocess.run(command, check=True, stdin=subprocess.DEVNULL)
    allow_root(agent, SUDOERS)


def _current(name: str) -> Entry:
    try:
        return pwd.getpwnam(name)
    except KeyError:
        return pwd.getpwnam(IMAGE_USER)


def changes(current: Entry, agent: AgentSettings) -> list[list[str]]:
    """Return the commands that change the account to the settings; none in a container without settings for it."""
    commands: list[list[str]] = []
    if current.pw_name != agent.user:
        commands += [
            ["groupmod", "--new-name", agent.user, current.pw_name],
            ["usermod", "--login", agent.user, "--home", agent.home, "--move-home", current.pw_name],
        ]
    if current.pw_gid != agent.gid:
        commands += [
            ["groupmod", "--non-unique", "--gid", str(agent.gid), agent.user],
            ["find", agent.home, "-xdev", "-gid", str(current.pw_gid), "-exec", "chgrp", "--no-dereference", str(agent.gid), "{}", "+"],
        ]
    if current.pw_uid != agent.uid:
        commands.append(["usermod", "--non-unique", "--uid", str(agent.uid), agent.user])
    return commands


def allow_root(agent: AgentSettings, sudoers: Path) -> None:
    """Let the agent use sudo without a password, or revoke that."""
    if not agent.sudo:
        sudoers.unlink(missing_ok=True)
        return
    rule = f"{agent.user} ALL=(ALL:ALL) NOPASSWD: ALL\n"
    if sudoers.exists() and sudoers.read_text(encoding="ascii") == rule:  # as in the image, whose files may be read-only
        return
    atomic_write.replace(sudoers, rule, mode=0o440)  # sudo skips names with a dot, as the temporary file has


def withdraw_root(sudoers: Path = SUDOERS) -> None:
    """Revoke the agent's right to become root outside the box.

    On a read-only filesystem the rule stays, but only added services could use it.
    """
    with suppress(OSError):
        sudoers.unlink(missing_ok=True)


def without_root(agent: AgentSettings) -> dict[str, str]:
    """Return the variables that make the agent the container's own user, because without root nobody can change user."""
    return {"USER": agent.user, "USER_UID": str(os.geteuid()), "USER_GID": str(os.getegid()), "ALLOW_SUDO": "false"}
