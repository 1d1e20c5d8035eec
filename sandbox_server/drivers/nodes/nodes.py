"""The agent's Node.js versions and their paths."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from sandbox_server.core.errors import InvalidArgument, Unavailable
from sandbox_server.drivers.spawn.process import Processes
from sandbox_server.timeouts import scaled

ROOT = "/opt/node"
SETUP = Path(__file__).parent / "setup"
PROBE_SECONDS = scaled(30.0)
STRIPS_TYPES = 22
"""The first major version that runs TypeScript."""
FLAGS = ("--disable-warning=ExperimentalWarning", "--disable-warning=UNDICI-EHPA")
"""Keep Node.js's warnings about experimental features, and about the proxy in its environment, out of the output."""

_FIND = 'for program in "$1"/*/bin/node; do [ -x "$program" ] && printf "%s\\t%s\\n" "$program" "$("$program" --version)"; done; true'


@dataclass(frozen=True, slots=True)
class Node:
    """One Node.js version."""

    program: str
    version: str
    """Such as `22.23.3`."""

    @property
    def major(self) -> int:
        """Such as 22."""
        return int(self.version.split(".")[0])

    @property
    def name(self) -> str:
        """The name for callers: `node22`."""
        return f"node{self.major}"

    def argv(self, *arguments: str, typescript: bool = False) -> list[str]:
        """Return its command line. Raises InvalidArgument if it cannot run TypeScript."""
        if typescript and self.major < STRIPS_TYPES:
            raise InvalidArgument(f"{self.name} does not support TypeScript", hint=f"use node{STRIPS_TYPES} or later")
        return [self.program, *FLAGS, *(["--experimental-transform-types"] if typescript else []), *arguments]


class Nodes:
    """The agent's Node.js versions, looked up once, and again after nothing was found.

    `default` is the default name.
    """

    def __init__(self, processes: Processes, *, default: str, enabled: bool = True) -> None:
        self.default = default
        self._processes = processes
        self._enabled = enabled
        self._found: dict[str, Node] = {}

    async def all(self) -> Mapping[str, Node]:
        """The versions by name, oldest first; none if Node.js is disabled."""
        if not self._found and self._enabled:
            self._found = await self._look()
        return self._found

    async def get(self, version: str | None) -> Node:
        """Return the Node.js named `node22`, `22` or `v22`; the default if none is named.

        Raises InvalidArgument with the known names, and Unavailable if there is none.
        """
        found = await self.all()
        if not found:
            raise Unavailable("Node.js is not installed or disabled")
        if not version:
            return found.get(self.default) or list(found.values())[-1]
        name = f"node{version.strip().lower().removeprefix('node').removeprefix('v')}"
        if name not in found:
            raise InvalidArgument(f"there is no Node.js {version!r}", version=version, hint=f"available: {', '.join(found)}")
        return found[name]

    async def _look(self) -> dict[str, Node]:
        argv = ["bash", "-c", _FIND, "bash", ROOT]
        listed = (await self._processes.run(argv, timeout=PROBE_SECONDS, max_output=1 << 16)).stdout.decode()
        lines = [line.split("\t") for line in listed.splitlines()]
        nodes = sorted((Node(program, version.lstrip("v")) for program, version in lines), key=lambda node: node.major)
        return {node.name: node for node in nodes}
