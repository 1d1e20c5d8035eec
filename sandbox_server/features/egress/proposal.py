"""What the mode `learn` has seen, and the policy that would allow it and nothing else."""

import asyncio
import time
from collections import defaultdict
from collections.abc import Callable, Iterable
from contextlib import suppress
from types import TracebackType
from typing import Any, Self

from sandbox_server.core import Model, Tasks
from sandbox_server.core.tasks import in_thread
from sandbox_server.drivers.egress.named_sets import HOST_SETS
from sandbox_server.drivers.egress.public_suffixes import is_public_suffix
from sandbox_server.drivers.storage.json_file import JsonFile
from sandbox_server.features.egress.connections import Connection
from sandbox_server.features.egress.grants import EgressDestination, destination_rule
from sandbox_server.features.egress.merge_patch import PolicyDocument

MAX_LEARNED = 2000
SAVE_SECONDS = 5.0
MIN_SIBLINGS = 4
"""From so many names below the same one on, a wildcard takes their place."""
_USUAL = {80: "http", 443: "tls"}


class LearnedDestination(Model):
    host: str
    port: int
    protocol: str
    rule: str
    """The rule that would have denied it."""
    connections: int
    first: float
    """Seconds since the epoch."""
    last: float


class EgressProposal(Model):
    policy: dict[str, Any]
    """The policy in force, with the mode `enforce`, the default `deny`, and rules for what was learned behind its own."""
    destinations: list[LearnedDestination]
    since: float | None
    """When the first of them was seen; null if nothing was learned."""


class LearnedDestinations:
    """Counts connections that only the mode `learn` allows; an asynchronous context manager, which keeps them in a file."""

    def __init__(self, file: JsonFile, now: Callable[[], float] = time.time) -> None:
        self._file = file
        self._now = now
        self._found = {(each.host, each.port, each.protocol): each for each in _read(file)}
        self._saved = True
        self._tasks = Tasks()

    async def __aenter__(self) -> Self:
        self._tasks.start(self._keep(), name="what was learned of the network")
        return self

    async def __aexit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        await self._tasks.close()
        await self._save()

    def see(self, connection: Connection) -> None:
        """Note a connection."""
        if not connection.learned:
            return
        key, now = (connection.host, connection.port, connection.protocol), self._now()
        known = self._found.get(key)
        if known is None and len(self._found) >= MAX_LEARNED:
            return
        count, first = (known.connections, known.first) if known else (0, now)
        self._found[key] = LearnedDestination(
            host=connection.host,
            port=connection.port,
            protocol=connection.protocol,
            rule=connection.rule,
            connections=count + 1,
            first=first,
            last=now,
        )
        self._saved = False

    def all(self) -> list[LearnedDestination]:
        """Return them, those with most connections first."""
        return sorted(self._found.values(), key=lambda each: (-each.connections, each.host, each.port))

    def forget(self) -> None:
        """Begin anew."""
        self._found, self._saved = {}, False

    async def _keep(self) -> None:
        while True:
            await asyncio.sleep(SAVE_SECONDS)
            await self._save()

    async def _save(self) -> None:
        if not self._saved:
            self._saved = True
            with suppress(OSError):  # they are in memory all the same
                await in_thread(self._file.write, [each.model_dump() for each in self.all()])


def proposed(document: PolicyDocument, destinations: Iterable[LearnedDestination]) -> PolicyDocument:
    """Return the policy that allows what a document allows, and the destinations."""
    kept = [rule for rule in document.get("rules", []) if rule.get("action") != "deny" or rule.get("hosts") != ["*"]]
    used = {rule.get("name") for rule in kept}
    learned = [{"name": _name(number, used), **rule} for number, rule in enumerate(rules_for(destinations))]
    return {**document, "default": "deny", "mode": "enforce", "rules": [*kept, *learned]}


def rules_for(destinations: Iterable[LearnedDestination]) -> list[dict[str, Any]]:
    """Group destinations: into named sets, into wildcards, and what is left by ports and protocols."""
    places = {(each.host, each.port, each.protocol) for each in destinations}
    sets, left = _named_sets(places)
    rules: list[dict[str, Any]] = [{"action": "allow", "sets": sets}] if sets else []
    hosts: defaultdict[tuple[tuple[int, ...], str], set[str]] = defaultdict(set)
    for host, ports, protocol in _by_host(left):
        if _is_address(host):
            place = EgressDestination(host=host, port=ports[0], protocol=_unusual(ports[0], protocol))
            rules += [{**destination_rule(place, "allow"), "ports": list(ports)}]
        else:
            hosts[ports, protocol].add(host)
    for (ports, protocol), names in sorted(hosts.items()):
        protocols = {"protocols": [protocol]} if any(_unusual(port, protocol) for port in ports) else {}
        rules.append({"action": "allow", "hosts": _with_wildcards(names), "ports": list(ports), **protocols})
    return rules


def _named_sets(places: set[tuple[str, int, str]]) -> tuple[list[str], set[tuple[str, int, str]]]:
    """Return the named sets of which something was seen, and what is in none of them."""
    sets, left = set(), set()
    for host, port, protocol in places:
        name = next((name for name, known in HOST_SETS.items() if host in known.hosts and port in known.ports), None)
        if name and (_USUAL.get(port, protocol) == protocol):
            sets.add(name)
        else:
            left.add((host, port, protocol))
    return sorted(sets), left


def _by_host(places: set[tuple[str, int, str]]) -> Iterable[tuple[str, tuple[int, ...], str]]:
    """Yield each host with its ports: those that carry what they usually carry together, others by protocol."""
    ports: defaultdict[tuple[str, str], set[int]] = defaultdict(set)
    for host, port, protocol in places:
        ports[host, protocol if _unusual(port, protocol) else ""].add(port)
    for (host, protocol), found in sorted(ports.items()):
        yield host, tuple(sorted(found)), protocol


def _unusual(port: int, protocol: str) -> Any:
    """Return the protocol if a rule has to name it; None otherwise."""
    return protocol if protocol and port in _USUAL and _USUAL[port] != protocol else None


def _with_wildcards(names: set[str]) -> list[str]:
    """Put a wildcard in the place of many names below the same one, never below a name under which anybody may register."""
    below: defaultdict[str, set[str]] = defaultdict(set)
    for name in names:
        parent = name.partition(".")[2]
        if parent and not is_public_suffix(parent):
            below[parent].add(name)
    wide = {parent: found for parent, found in below.items() if len(found) >= MIN_SIBLINGS}
    covered = {name for found in wide.values() for name in found}
    return sorted({*(f"*.{parent}" for parent in wide), *(names - covered)})


def _is_address(host: str) -> bool:
    return ":" in host or host.rpartition(".")[2].isdecimal()


def _name(number: int, used: set[Any]) -> str:
    name = f"learned {number}"
    while name in used:
        name += "'"
    return name


def _read(file: JsonFile) -> list[LearnedDestination]:
    """Read the file; what is malformed was not learned."""
    try:
        return [LearnedDestination.model_validate(each) for each in file.read() or []][:MAX_LEARNED]
    except (OSError, ValueError, TypeError):
        return []
