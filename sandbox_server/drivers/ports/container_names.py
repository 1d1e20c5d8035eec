"""Host names by which neighbouring containers reach this one: names of containers and services, known only to the engine's resolver."""

import asyncio
import socket
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from ipaddress import ip_address

SECONDS = 2.0
"""Seconds for a query. Queries run one at a time."""
KEPT_SECONDS = 30.0
MAX_KEPT = 64
"""Limit of cached answers: clients of the gateway may ask for any name."""

type Resolve = Callable[[str], set[str]]


class ContainerNames:
    """Resolves whether a name is one of this machine's, and caches the answers for a while."""

    def __init__(self, resolve: Resolve | None = None, now: Callable[[], float] = time.monotonic) -> None:
        self._resolve = resolve or addresses_of
        self._now = now
        self._kept: dict[str, tuple[bool, float]] = {}
        self._thread = ThreadPoolExecutor(1, "own names")

    async def hold(self, name: str) -> bool:
        """Whether a name without dots resolves to an address of this machine other than loopback.

        Only such a name is accepted: the public DNS has none, so nobody outside can point one here.
        """
        if "." in name or not name:
            return False
        known, until = self._kept.get(name, (False, 0.0))
        if self._now() < until:
            return known
        held = await self._resolve_within_time(name, known=known)
        self._keep(name, held=held)
        return held

    async def _resolve_within_time(self, name: str, *, known: bool) -> bool:
        """Resolve a name. While the resolver is busy, as with invented names, the last known answer holds."""
        try:
            async with asyncio.timeout(SECONDS):
                found = await asyncio.get_running_loop().run_in_executor(self._thread, self._resolve, name)
        except TimeoutError:
            return known
        except (OSError, UnicodeError):
            return False
        return any(is_own(address) for address in found)

    def _keep(self, name: str, *, held: bool) -> None:
        """Cache an answer, in place of a negative one: nobody can invent names that resolve to us."""
        if name not in self._kept and len(self._kept) >= MAX_KEPT:
            self._kept.pop(next((each for each, (was_held, _) in self._kept.items() if not was_held), next(iter(self._kept))))
        self._kept[name] = (held, self._now() + KEPT_SECONDS)


def addresses_of(name: str) -> set[str]:
    """Return the addresses of a name, without search domains. Raises OSError if there are none."""
    return {str(found[4][0]) for found in socket.getaddrinfo(f"{name}.", None, type=socket.SOCK_STREAM)}


def is_own(address: str) -> bool:
    """Whether an address is this machine's and not loopback, tested by binding to it."""
    found = ip_address(address.partition("%")[0])
    if found.is_loopback or found.is_unspecified or found.is_multicast:
        return False
    try:
        with socket.socket(socket.AF_INET if found.version == 4 else socket.AF_INET6, socket.SOCK_DGRAM) as probe:
            probe.bind((str(found), 0))
    except OSError:
        return False
    return True
