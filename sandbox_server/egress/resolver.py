"""Names to addresses, asked outside of the namespace: in threads that users share, once for all of a user's who ask at the same time."""

import asyncio
import socket
from collections import Counter, OrderedDict, deque
from concurrent.futures import ThreadPoolExecutor
from functools import partial

from sandbox_server.drivers.egress.protected_addresses import Address, parse_address
from sandbox_server.egress.acceptor import USER

THREADS = 8
THREADS_OF_ONE = 3
"""How many of them the names of one user's connections have at once."""
SECONDS = 10.0
"""How long an answer may take."""
KEPT_SECONDS = 5.0
"""How long an answer is used again."""
MAX_KEPT = 1024
MAX_WAITING = 512
"""How many names may be asked for at once."""
WAITING_OF_ONE = 256
"""The same for one user's connections."""
MAX_ADDRESSES = 16

type Addresses = tuple[Address, ...]


class UnresolvedName(Exception):
    """A name has no address, or none in time; the message says which."""


class Resolver:
    """The resolver of this machine (getaddrinfo(3)), with a short memory."""

    def __init__(self) -> None:
        self._threads = ThreadPoolExecutor(THREADS, "resolve")
        self._kept: OrderedDict[str, tuple[float, Addresses]] = OrderedDict()
        self._waiting: dict[tuple[int | None, str], asyncio.Future[Addresses]] = {}
        """The answers that are waited for, by who asks and name."""
        self._queued: dict[int | None, deque[str]] = {}
        """The names that have no thread yet, by who asks; who has waited longest for one comes first."""
        self._asking: Counter[int | None] = Counter()
        """How many threads each user has."""

    async def resolve(self, name: str) -> Addresses:
        """Return the addresses of a name in the order in which to try them; raises UnresolvedName."""
        loop = asyncio.get_running_loop()
        if (kept := self._kept.get(name)) and loop.time() < kept[0]:
            return kept[1]
        user = USER.get()
        try:
            async with asyncio.timeout(SECONDS):
                return await asyncio.shield(self._waiting.get((user, name)) or self._ask(loop, user, name))
        except TimeoutError:
            raise UnresolvedName(f"{name} was not resolved within {SECONDS:g} s") from None

    def close(self) -> None:
        """End the threads, without waiting for an answer."""
        self._queued.clear()
        self._threads.shutdown(wait=False, cancel_futures=True)

    def _ask(self, loop: asyncio.AbstractEventLoop, user: int | None, name: str) -> asyncio.Future[Addresses]:
        if len(self._waiting) >= MAX_WAITING or len(self._queued.get(user, ())) >= WAITING_OF_ONE:
            raise UnresolvedName("too many names are being resolved")
        answer: asyncio.Future[Addresses] = loop.create_future()
        self._waiting[user, name] = answer
        self._queued.setdefault(user, deque()).append(name)
        self._begin(loop)
        return answer

    def _begin(self, loop: asyncio.AbstractEventLoop) -> None:
        """Give the free threads to users in turn, each within its share."""
        while self._asking.total() < THREADS:
            user = next((each for each in self._queued if self._asking[each] < THREADS_OF_ONE), -1)
            if user == -1:
                return
            names = self._queued.pop(user)
            name = names.popleft()
            if names:
                self._queued[user] = names
            self._asking[user] += 1
            loop.run_in_executor(self._threads, _addresses, name).add_done_callback(partial(self._end, loop, user, name))

    def _end(self, loop: asyncio.AbstractEventLoop, user: int | None, name: str, done: asyncio.Future[Addresses]) -> None:
        self._asking[user] -= 1
        self._asking += Counter()  # drops the users that have none
        answer = self._waiting.pop((user, name))
        if done.cancelled():
            answer.cancel()
            return
        if error := done.exception():
            answer.set_exception(error)
            answer.exception()  # perhaps nobody waits for it any more
        else:
            answer.set_result(done.result())
            self._keep(loop, name, done.result())
        self._begin(loop)

    def _keep(self, loop: asyncio.AbstractEventLoop, name: str, found: Addresses) -> None:
        self._kept[name] = loop.time() + KEPT_SECONDS, found
        self._kept.move_to_end(name)
        if len(self._kept) > MAX_KEPT:
            self._kept.popitem(last=False)


def _addresses(name: str) -> Addresses:
    try:
        found = socket.getaddrinfo(name.encode("ascii"), None, type=socket.SOCK_STREAM)
    except OSError:
        raise UnresolvedName(f"{name} has no address") from None
    return tuple(dict.fromkeys(parse_address(str(place[0])) for *_, place in found))[:MAX_ADDRESSES]
