"""Facts about this computer, read from /proc, /etc and the filesystem."""

import os
import platform
import pwd
import time
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

CAPABILITIES = {"NET_ADMIN": 12, "NET_RAW": 13, "SYS_ADMIN": 21, "SYS_CHROOT": 18, "SETGID": 6, "SETUID": 7, "SETFCAP": 31}
"""Bits of the kernel's capability sets (include/uapi/linux/capability.h)."""

_LISTEN = "0A"
_ADJTIMEX_UNSYNCHRONISED = 5


@dataclass(frozen=True, slots=True)
class Release:
    """The distribution, from /etc/os-release."""

    name: str
    version: str


@dataclass(frozen=True, slots=True)
class DiskSpace:
    """Space of a filesystem, in bytes."""

    total: int
    free: int


def has_name() -> bool:
    """Whether this process's user is in /etc/passwd.

    One set by `docker run --user` is not, and D-Bus refuses to run for it.
    """
    try:
        return bool(pwd.getpwuid(os.geteuid()))
    except KeyError:
        return False


def release() -> Release:
    """The distribution's name and version."""
    values = platform.freedesktop_os_release()
    return Release(values.get("NAME", "Linux"), values.get("VERSION_ID", ""))


def timezone() -> str:
    """The time zone from `TZ` or /etc/localtime."""
    if zone := os.environ.get("TZ"):
        return zone.removeprefix(":")
    target = os.path.realpath("/etc/localtime")
    _, _, zone = target.partition("/zoneinfo/")
    return zone or time.tzname[0]


def listening_ports() -> list[int]:
    """TCP ports with a listener in this network namespace, ascending (proc_net_tcp(5))."""
    ports: set[int] = set()
    for table in ("/proc/net/tcp", "/proc/net/tcp6"):
        if not os.path.exists(table):
            continue
        for line in Path(table).read_text(encoding="ascii").splitlines()[1:]:
            fields = line.split()
            if fields[3] == _LISTEN:
                ports.add(int(fields[1].rsplit(":", 1)[1], 16))
    return sorted(ports)


def has_route(net: str = "/proc/net") -> bool:
    """Whether this network namespace has a default route (proc_net(5)). Without one nothing outside can be reached."""
    with suppress(FileNotFoundError):
        if any(line.split()[1] == "00000000" for line in Path(f"{net}/route").read_text("ascii").splitlines()[1:]):
            return True
    with suppress(FileNotFoundError):
        return any(_is_default6(line.split()) for line in Path(f"{net}/ipv6_route").read_text("ascii").splitlines())
    return False


def _is_default6(fields: list[str]) -> bool:
    """Whether it is a default route by a device. The kernel's own reject route is listed on `lo`."""
    return fields[0] == "0" * 32 and fields[1] == "00" and fields[-1] != "lo"


def memory_bytes(proc: str = "/proc", cgroup: str = "/sys/fs/cgroup") -> int:
    """Return the memory limit of this container: the machine's memory, or less by its control group (v1 or v2)."""
    found = [int(line.split()[1]) << 10 for line in Path(f"{proc}/meminfo").read_text("ascii").splitlines() if line.startswith("MemTotal:")]
    for name in ("memory.max", "memory/memory.limit_in_bytes"):
        with suppress(OSError, ValueError):  # the other version, or "max"
            found.append(int(Path(f"{cgroup}/{name}").read_text("ascii")))
    return min(found)


def process_status() -> dict[str, str]:
    """The fields of /proc/self/status."""
    lines = Path("/proc/self/status").read_text(encoding="utf-8").splitlines()
    return {name: value.strip() for name, _, value in (line.partition(":") for line in lines)}


def effective_capability(name: str) -> bool:
    """Whether this process has the capability."""
    return bool(int(process_status()["CapEff"], 16) >> CAPABILITIES[name] & 1)


def bounding_capability(name: str) -> bool:
    """Whether any process of this container could have the capability."""
    return bool(int(process_status()["CapBnd"], 16) >> CAPABILITIES[name] & 1)


def space(path: str) -> DiskSpace:
    """Return the space of the filesystem of `path`."""
    found = os.statvfs(path)
    return DiskSpace(found.f_blocks * found.f_frsize, found.f_bavail * found.f_frsize)


def clock_synchronised() -> bool:
    """Whether the host's clock is synchronised (adjtimex(2)), as far as the kernel knows."""
    import ctypes

    class Timex(ctypes.Structure):
        _fields_ = (("modes", ctypes.c_uint), ("rest", ctypes.c_byte * 252))

    state: int = ctypes.CDLL(None).adjtimex(ctypes.byref(Timex()))
    return state != _ADJTIMEX_UNSYNCHRONISED


def cgroup_limit(name: str) -> int | None:
    """Return a limit of this container's cgroup, `memory` in bytes or `pids`; None if there is none or it is not visible."""
    files = {
        "memory": ("/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes"),
        "pids": ("/sys/fs/cgroup/pids.max", "/sys/fs/cgroup/pids/pids.max"),
    }
    for path in files[name]:
        if os.path.exists(path):
            text = Path(path).read_text(encoding="ascii").strip()
            return int(text) if text.isdigit() and int(text) < 1 << 60 else None
    return None
