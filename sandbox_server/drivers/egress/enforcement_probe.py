"""Measures what the egress policy does with a program of the agent's where there is no box: the program really tries to leave.

It connects to an address for documentation (RFC 5737), which every policy denies that does not name it, and which is nobody's.
It marks its socket as the egress process does, where it may. The answer of an egress process shows that one decides, wherever
it runs: here, or in a container that owns the network.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass

from sandbox_server.drivers.box.isolation import Isolation
from sandbox_server.drivers.egress.container_rules import MARK
from sandbox_server.drivers.spawn.process import Completed, Processes
from sandbox_server.timeouts import scaled

SECONDS = scaled(15.0)
RULES_FLAG = "--cap-add NET_ADMIN with ALLOW_SUDO=false"
WHERE = 'docs/egress.md, "Where there is no box"'
_PYTHON = "/usr/bin/python3"
_MAX_OUTPUT = 8192
_ASKED, _CLOSED = "asked", "closed"
_SCRIPT = (
    f"MARK = {MARK}"
    + """
import contextlib, json, os, socket, urllib.parse
HOST, WAIT = "192.0.2.1", 1.5
PAGE = b"\\r\\n\\r\\negress: "
def fetch(place, target, mark=0):
    try:
        with socket.socket() as sock:
            sock.settimeout(WAIT)
            with contextlib.suppress(OSError):
                sock.setsockopt(socket.SOL_SOCKET, socket.SO_MARK, mark)
            sock.connect(place)
            sock.sendall(b"GET " + target + b" HTTP/1.1\\r\\nHost: 192.0.2.1\\r\\nConnection: close\\r\\n\\r\\n")
            said = b""
            while PAGE not in said and len(said) < 4096 and (more := sock.recv(4096)):
                said += more
        return "asked" if PAGE in said else "answered by something else"
    except OSError as error:
        return str(error)
def send():
    try:
        socket.socket(socket.AF_INET, socket.SOCK_DGRAM).sendto(b"", (HOST, 9))
        return "open"
    except OSError:
        return "closed"
proxy = urllib.parse.urlsplit(os.environ.get("http_proxy", ""))
asked = fetch((proxy.hostname, proxy.port or 80), b"http://192.0.2.1/") if proxy.hostname else "none is set"
print(json.dumps({"direct": fetch((HOST, 80), b"/", MARK), "udp": send(), "proxy": asked}))
"""
)


@dataclass(frozen=True)
class Attempts:
    """What became of each attempt: `asked` means that an egress process answered."""

    direct: str
    udp: str
    proxy: str

    @property
    def enforced(self) -> bool:
        """Whether nothing leaves but by an egress process."""
        return self.direct == _ASKED and self.udp == _CLOSED


@dataclass(frozen=True)
class Enforcement:
    """What was seen in one sentence. `holds` is None if nothing could be tried."""

    holds: bool | None
    detail: str


class EnforcementProbe:
    """Tries as the agent, and as root where the agent may become that."""

    def __init__(self, processes: Processes, isolation: Isolation) -> None:
        self._processes = processes
        self._isolation = isolation

    async def look(self) -> Enforcement:
        """Say whether the policy is enforced, only asked, or off."""
        own = await self._attempts()
        root = await self._attempts("sudo", "-n")
        if own is None:
            return Enforcement(None, "a program of the agent's could not try")
        if own.enforced and root and not root.enforced:
            return Enforcement(
                False, "connections of the agent's user are decided by the policy, and root, which the agent may become, goes round it"
            )
        if own.enforced:
            also = ", root's too, but for root's questions to the nameservers" if root else ""
            return Enforcement(True, f"every connection of the agent's programs is decided by the policy{also}")
        if own.direct == _ASKED:
            return Enforcement(False, "TCP connections are decided by the policy, and UDP goes round it")
        if own.proxy == _ASKED:
            return Enforcement(False, "only programs that use the proxy of their environment ask the policy; others go round it")
        return Enforcement(False, "nothing in here keeps the agent's programs from any address that the container reaches")

    def hint(self, *, enabled: bool) -> str:
        """What would enforce it on this isolation level."""
        if not enabled:
            return f"unset EGRESS=false, or put the container into the network of an egress container: {WHERE}"
        if self._isolation.egress == "rules":
            return "set ALLOW_SUDO=false, because root is exempt from the rules, and a policy that parses, without `mode: learn`"
        flags = " ".join(self._isolation.flags)
        own = f"run with {flags}, for the level box" if flags else "start it as root"
        rules = f"; or {RULES_FLAG}" if self._isolation.level == "users" else ""
        return f"{own}{rules}; or put it into the network of an egress container: {WHERE}"

    async def _attempts(self, *before: str) -> Attempts | None:
        done = await self._processes.run([*before, _PYTHON, "-c", _SCRIPT], cwd="/", timeout=SECONDS, max_output=_MAX_OUTPUT)
        return _read(done)


def _read(done: Completed) -> Attempts | None:
    """What an attempt printed; None if it could not be made, as where `sudo` is refused."""
    try:
        found = json.loads(done.stdout)
        return Attempts(**found) if isinstance(found, Mapping) else None
    except (ValueError, TypeError):
        return None
