"""What the host and its engine do to this container, as far as it decides which isolation level can be had."""

import errno
import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from sandbox_server.drivers.fence import landlock
from sandbox_server.drivers.stats import system
from sandbox_server.drivers.stats.gvisor import is_gvisor

NEEDED_CAPABILITIES = ("SETUID", "SETGID", "SETFCAP")
"""To give a user namespace the container's users."""
SECCOMP_FLAG = "--security-opt seccomp=deploy/seccomp/tandem.json"
PATHS_FLAG = "--security-opt systempaths=unconfined (Podman: --security-opt unmask=ALL; Kubernetes: procMount: Unmasked)"
APPARMOR_FLAG = "--security-opt apparmor=unconfined"
_EVERY_ID = ["0", "0", "4294967295"]


@dataclass(frozen=True)
class Host:
    """What was found."""

    root: bool
    """Whether the container was started as root."""
    apparmor: str
    """AppArmor's profile of the container where one is in force, else empty."""
    gvisor: bool
    """Whether the kernel is gVisor's."""
    mapped: bool
    """Whether the container's users are others on the host, as rootless engines have it."""
    masked: bool
    """Whether parts of /proc are covered, so that no other /proc can be mounted."""
    namespaces: int
    """0 where a user namespace can be made, else the kernel's errno."""
    capabilities: tuple[str, ...]
    """Which of NEEDED_CAPABILITIES are missing."""
    landlock: int
    """Version of Landlock; 0 without it."""

    @property
    def conditions(self) -> list[str]:
        """One sentence for each thing that was found and bears on isolation."""
        return list(self._conditions())

    def _conditions(self) -> Iterator[str]:
        if not self.root:
            yield "the container was not started as root"
        if self.apparmor:
            yield f"AppArmor's profile {self.apparmor} is in force, which refuses mounts"
        if self.gvisor:
            yield "the kernel is gVisor's: it keeps the host from all that is in here, and may have no overlay and no Landlock"
        if self.mapped:
            yield "users of the container are others on the host (a rootless engine, or user namespaces of the engine)"
        if self.masked:
            yield "the engine covers parts of /proc"
        if self.namespaces:
            yield f"no user namespace can be made: {os.strerror(self.namespaces)}"
        if self.capabilities:
            yield f"capabilities are missing: {', '.join(self.capabilities)}"
        yield f"Landlock {self.landlock}" if self.landlock else "no Landlock"

    @property
    def flags(self) -> list[str]:
        """How to start the container for the highest isolation level, as far as its engine can do anything about it."""
        return list(self._flags())

    def _flags(self) -> Iterator[str]:
        if not self.root:
            yield "no --user: it changes to three users of its own"
        if self.apparmor:
            yield APPARMOR_FLAG
        if self.namespaces == errno.ENOSPC:
            yield "user.max_user_namespaces above 0, a setting of the host's kernel"
        elif self.namespaces:
            yield SECCOMP_FLAG
        if self.masked:
            yield PATHS_FLAG
        if self.capabilities:
            yield " ".join(f"--cap-add {name}" for name in self.capabilities)


def look(proc: str = "/proc") -> Host:
    """Look at the host from here."""
    return Host(
        root=os.geteuid() == 0,
        apparmor=apparmor_profile(_read(f"{proc}/self/attr/current")),
        gvisor=is_gvisor(proc),
        mapped=_read(f"{proc}/self/uid_map").split() not in ([], _EVERY_ID),
        masked=is_covered(_read(f"{proc}/self/mountinfo")),
        namespaces=refusal_of_namespaces(),
        capabilities=tuple(name for name in NEEDED_CAPABILITIES if not system.bounding_capability(name)),
        landlock=landlock.abi(),
    )


def apparmor_profile(label: str) -> str:
    """The profile that is in force, as the kernel tells it; other security modules write their labels to the same file."""
    name, _, mode = label.strip("\0\n ").partition(" ")
    return name if mode in ("(enforce)", "(kill)") else ""


def is_covered(mounts: str) -> bool:
    """Whether something is mounted below /proc (proc_pid_mountinfo(5))."""
    return any(line.split(" ")[4].startswith("/proc/") for line in mounts.splitlines())


def refusal_of_namespaces() -> int:
    """Try to make a user namespace in a fork; gives the errno, 0 where it can be made."""
    pid = os.fork()
    if pid == 0:
        try:
            os.unshare(os.CLONE_NEWUSER)
            os._exit(0)
        except OSError as error:
            os._exit(error.errno or errno.EIO)
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])


def _read(path: str) -> str:
    try:
        return Path(path).read_text(encoding="utf-8", errors="replace")
    except OSError:
        return ""
