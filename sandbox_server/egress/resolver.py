"""Names to addresses, asked outside of the namespace: in threads, once for all who ask at the same time."""

import asyncio
import socket
from collections import OrderedDict
from concurrent.futures import ThreadPoolExecutor

from sandbox_server.drivers.egress.protected_addresses import Address, parse_address

THREADS = 8
SECONDS = 10.0
"""How long an answer may take."""
KEPT_SECONDS = 5.0
"""How long an answer is used again."""
MAX_KEPT = 1024
MAX_WAITING = 512
"""How many names may be asked for at once."""
MAX_ADDRESSES = 16

type Addresses = tuple[Address, ...]


class UnresolvedName(Exception):
    """A name has no address, or none in time; the message says which."""


class Resolver:
    """The resolver of this machine (getaddrinfo(3)), with a short memory."""

    def __init__(self) -> None:
        self._threads = ThreadPoolExecutor(THREADS, "resolve")
        self._kept: OrderedDict[str, tuple[float, Addresses]] = OrderedDict()
        self._waiting: dict[str, asyncio.Future[Addresses]] = {}

    async def resolve(self, name: str) -> Addresses:
        """Return the addresses of a name in the order in which to try them; raises UnresolvedName."""
        loop = asyncio.get_running_loop()
        if (kept := self._kept.get(name)) and loop.time() < kept[0]:
            return kept[1]
        try:
            async with asyncio.timeout(SECONDS):
                return await asyncio.shield(self._waiting.get(name) or self._ask(loop, name))
        except TimeoutError:
            raise UnresolvedName(f"{name} was not resolved within {SECONDS:g} s") from None

    def close(self) -> None:
        """End the threads, without waiting for an answer."""
        self._threads.shutdown(wait=False, cancel_futures=True)

    def _ask(self, loop: asyncio.AbstractEventLoop, name: str) -> asyncio.Future[Addresses]:
        if len(self._waiting) >= MAX_WAITING:
            raise UnresolvedName("too many names are being resolved")
        asked = loop.run_in_executor(self._threads, _addresses, name)
        self._waiting[name] = asked
        asked.add_done_callback(lambda done: self._keep(loop, name, done))
        return asked

    def _keep(self, loop: asyncio.AbstractEventLoop, name: str, done: asyncio.Future[Addresses]) -> None:
        del self._waiting[name]
        if done.cancelled() or done.exception():
            return
        self._kept[name] = loop.time() + KEPT_SECONDS, done.result()
        self._kept.move_to_end(name)
        if len(self._kept) > MAX_KEPT:
            self._kept.popitem(last=False)


def _addresses(name: str) -> Addresses:
    try:
        found = socket.getaddrinfo(name.encode("ascii"), None, type=socket.SOCK_STREAM)
    except OSError:
        raise UnresolvedName(f"{name} has no address") from None
    return tuple(dict.fromkeys(parse_address(str(place[0])) for *_, place in found))[:MAX_ADDRESSES]
