"""Which Node.js versions the agent has, and where."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from sandbox_server.core.errors import InvalidArgument, Unavailable
from sandbox_server.drivers.spawn.process import Processes

ROOT = "/opt/node"
SETUP = Path(__file__).parent / "setup"
PROBE_SECONDS = 30.0
STRIPS_TYPES = 22
"""The first major version that runs TypeScript."""
FLAGS = ("--disable-warning=ExperimentalWarning", "--disable-warning=UNDICI-EHPA")
"""Nothing of what is new in Node.js is written to what the code writes: of the proxy that it is told of, neither."""

_FIND = 'for program in "$1"/*/bin/node; do [ -x "$program" ] && printf "%s\\t%s\\n" "$program" "$("$program" --version)"; done; true'


@dataclass(frozen=True, slots=True)
class Node:
    """One Node.js."""

    program: str
    version: str
    """As in `22.23.3`."""

    @property
    def major(self) -> int:
        """As in 22."""
        return int(self.version.split(".")[0])

    @property
    def name(self) -> str:
        """What callers call it: `node22`."""
        return f"node{self.major}"

    def argv(self, *arguments: str, typescript: bool = False) -> list[str]:
        """How it is started. Raises InvalidArgument where it cannot run TypeScript."""
        if typescript and self.major < STRIPS_TYPES:
            raise InvalidArgument(f"{self.name} runs no TypeScript", hint=f"use node{STRIPS_TYPES} or later")
        return [self.program, *FLAGS, *(["--experimental-transform-types"] if typescript else []), *arguments]


class Nodes:
    """The agent's Node.js versions, looked up once and again after nothing was found. `default` is the name of the usual one."""

    def __init__(self, processes: Processes, *, default: str, enabled: bool = True) -> None:
        self.default = default
        self._processes = processes
        self._enabled = enabled
        self._found: dict[str, Node] = {}

    async def all(self) -> Mapping[str, Node]:
        """By name, oldest first; none where they are disabled."""
        if not self._found and self._enabled:
            self._found = await self._look()
        return self._found

    async def get(self, version: str | None) -> Node:
        """The Node.js that is called `node22`, `22` or `v22`; the default where none is named.

        Raises InvalidArgument with the names that there are, and Unavailable where there are none.
        """
        found = await self.all()
        if not found:
            raise Unavailable("there is no Node.js here")
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
