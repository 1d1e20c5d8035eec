"""The agent's tools: interpreters, packages and commands, looked up in the agent's own environment."""

import asyncio
import json
import shlex
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass

from sandbox_server.core.errors import Unavailable
from sandbox_server.drivers.spawn.process import Processes
from sandbox_server.timeouts import scaled

PROBE_SECONDS = scaled(20.0)
MAX_LISTING_BYTES = 4 * 1024 * 1024
MAX_SHOWN = 200
"""Limit of characters of a name or a version."""

# Of several of one name the first on the path is the one that is imported.
_LIST_PYTHON = """
import importlib.metadata, json
found = {}
for one in importlib.metadata.distributions():
    name = one.metadata["Name"]
    if name:
        found.setdefault(name.lower().replace("_", "-").replace(".", "-"), (name, one.version))
print(json.dumps(sorted(found.values())))
"""
# A program is asked for its version once, however many commands start it.
_EACH_PROGRAM_ONCE = """
declare -A version
look() {
  for name; do
    command=$(command -v "$name") || continue
    path=$(readlink -f "$command")
    [ -n "${version[$path]+asked}" ] || version[$path]=$(
      timeout -k 1 5 "$command" --version 2>&1 </dev/null | head -c 1000 | tr -s '[:cntrl:]' ' '
    )
    printf '%s\\t%s\\t%s\\n' "$name" "${path//[[:cntrl:]]/?}" "${version[$path]}"
  done
}
"""


@dataclass(frozen=True, slots=True)
class Interpreter:
    """One runtime: its version, its path, and the commands that start it."""

    version: str
    path: str
    commands: tuple[str, ...]


class Toolbox:
    """Looks up the tools once, and caches them until the server restarts."""

    def __init__(self, processes: Processes) -> None:
        self._processes = processes
        self._interpreters: dict[str, list[Interpreter]] = {}
        self._looking: defaultdict[str, asyncio.Lock] = defaultdict(asyncio.Lock)

    async def interpreters(self, language: str, names: Sequence[str]) -> list[Interpreter]:
        """Return the interpreters on the agent's PATH with these command names, one entry for each program."""
        async with self._looking[language]:
            if language not in self._interpreters:
                self._interpreters[language] = await self._look(names)
        return self._interpreters[language]

    async def present(self, names: Sequence[str]) -> set[str]:
        """Return the commands that the agent can run."""
        tests = "; ".join(f"command -v {shlex.quote(name)} >/dev/null && echo {shlex.quote(name)}" for name in names)
        return set((await self._shell(tests)).split())

    async def python_packages(self) -> list[tuple[str, str]]:
        """Return name and version of every distribution that the agent's `python3` can import."""
        found = _read(await self._shell(f"python3 -c {shlex.quote(_LIST_PYTHON)}"))
        if not isinstance(found, list) or not all(isinstance(each, list) and len(each) == 2 for each in found):
            raise _unreadable()
        return [(_printable(name), _printable(version)) for name, version in found]

    async def node_packages(self) -> list[tuple[str, str]]:
        """Return name and version of npm and of its global packages; empty if there is no npm."""
        if not await self.present(["npm"]):
            return []
        listing = _read(await self._shell("npm ls --global --json --depth=0") or "{}")
        found = listing.get("dependencies", {}) if isinstance(listing, dict) else None
        if not isinstance(found, dict) or not all(isinstance(entry, dict) for entry in found.values()):
            raise _unreadable()
        own = {} if "npm" in found else {"npm": {"version": await self.npm("--version")}}
        return [(_printable(name), _printable(entry.get("version", ""))) for name, entry in sorted((found | own).items())]

    async def npm(self, question: str) -> str:
        """Return npm's output for an option such as `--version`; empty if there is no npm."""
        return (await self._shell(f"command -v npm >/dev/null && npm {question}")).strip()

    async def _look(self, names: Sequence[str]) -> list[Interpreter]:
        script = f"{_EACH_PROGRAM_ONCE}look {shlex.join(names)}"
        found: dict[str, list[str]] = {}
        versions: dict[str, str] = {}
        for line in (await self._shell(script)).split("\n"):
            name, _, told = line.partition("\t")
            path, _, version = told.partition("\t")
            if name not in names or not path.startswith("/"):
                continue  # a version may have lines of its own
            found.setdefault(path, []).append(name)
            versions[path] = _printable((version.split() or [""])[-1].lstrip("v"))
        return [Interpreter(versions[path], path, tuple(commands)) for path, commands in found.items()]

    async def _shell(self, script: str) -> str:
        completed = await self._processes.run(["bash", "-c", script], timeout=PROBE_SECONDS, max_output=MAX_LISTING_BYTES)
        if completed.truncated or completed.exit.code is None:
            raise _unreadable()
        return completed.stdout.decode("utf-8", "replace")


def _unreadable() -> Unavailable:
    return Unavailable("the list of tools could not be read: the agent's own programs tell it")


def _read(said: str) -> object:
    """Parse the JSON of a program of the agent. Raises Unavailable for anything else."""
    try:
        return json.loads(said)
    except (ValueError, RecursionError) as error:
        raise _unreadable() from error


def _printable(told: object) -> str:
    """Return a name or version on one line, shortened."""
    return "".join(character for character in str(told)[:MAX_SHOWN] if character.isprintable())
