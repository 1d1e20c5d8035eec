"""Quotas: programs share a part of every limited resource, and each program a smaller part, so that a person always gets in.

Programs are told apart by their credential: all tickets made with one credential count as its own. If everything is
taken, a person evicts the program with the oldest reservation. If there is none, the person who has most is evicted,
unless the newcomer would then have more.
"""

import asyncio
from collections import Counter
from collections.abc import Callable, Coroutine
from types import TracebackType
from typing import Any, Self

from sandbox_server.core.errors import ResourceExhausted
from sandbox_server.core.tasks import start_task

RETRY_SECONDS = 1.0
NEEDED = "a person needed your slot"
"""The reason that an evicted caller gets."""


def owner_of(name: str, *, person: bool) -> str:
    """Return the owner of a caller's reservations: the person, or the program's credential."""
    return name if person else name.partition("#")[0]


async def run_unless_evicted[T](evicted: asyncio.Event, work: Coroutine[Any, Any, T]) -> T:
    """Run the work that needs a reservation. Raises ResourceExhausted on eviction, and what the work raises."""
    working, leaving = start_task(work), start_task(evicted.wait())
    either: set[asyncio.Future[Any]] = {working, leaving}
    try:
        await asyncio.wait(either, return_when=asyncio.FIRST_COMPLETED)
        if not working.done():
            raise ResourceExhausted(NEEDED)
        return await working
    finally:
        for task in either:
            task.cancel()
        await asyncio.wait(either)


class Reservation:
    """One caller's part of a quota until it is closed. It is a context manager that closes it."""

    def __init__(self, quota: "Quota", owner: str, leave: Callable[[], None] | None, *, person: bool) -> None:
        self._quota = quota
        self.owner = owner
        self.person = person
        self.size = 0
        self.evicted = False
        """Whether a person has taken it over."""
        self._leave = leave

    async def grow(self, more: int, seconds: float) -> None:
        """Reserve more, and wait up to `seconds` for it. Raises ResourceExhausted and then keeps what it has."""
        deadline = asyncio.get_running_loop().time() + seconds
        while True:
            try:
                return self._quota.reserve(self, more)
            except ResourceExhausted:
                if not await self._quota.freed(deadline):
                    raise

    def shrink(self, size: int) -> None:
        """Give back everything above `size`."""
        if self.size > size:
            self._quota.give_back(self, self.size - size)

    @property
    def evictable(self) -> bool:
        """Whether the owner can be told to leave."""
        return self._leave is not None

    def evict(self) -> None:
        """Give it back, and tell the owner to leave."""
        self.evicted = True
        self.close()
        if self._leave:
            self._leave()

    def close(self) -> None:
        """Give it back. A second call does nothing."""
        self._quota.release(self)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.close()


class Quota:
    """A limited resource: `most` for everyone, of it `programs` for all programs, of that `each` for one program.

    `what` names the resource in error messages, in the plural.
    """

    def __init__(self, what: str, most: int, *, programs: int, each: int) -> None:
        if not 0 < each <= programs < most:
            raise ValueError(f"{what}: the limits must be each <= programs < most")
        self.what = what
        self._most = most
        self._programs = programs
        self._each = each
        self._held: dict[Reservation, None] = {}
        self._by_owner: Counter[tuple[bool, str]] = Counter()
        self._taken: Counter[bool] = Counter()
        self._waiting: set[asyncio.Event] = set()

    @property
    def taken(self) -> int:
        """How much is taken by all callers."""
        return self._taken.total()

    def take(self, name: str, *, person: bool, leave: Callable[[], None] | None = None, size: int = 1) -> Reservation:
        """Reserve some of it for a caller. Raises ResourceExhausted.

        `leave` is called when the caller is evicted. A reservation without it cannot be evicted.
        """
        reservation = Reservation(self, owner_of(name, person=person), leave, person=person)
        self.reserve(reservation, size)
        return reservation

    def reserve(self, reservation: Reservation, size: int) -> None:
        """Add to a reservation. Raises ResourceExhausted."""
        if reservation.person:
            self._make_room(reservation, size)
        else:
            self._check_share(reservation, size)
        self._held[reservation] = None
        self._count(reservation, size)

    def release(self, reservation: Reservation) -> None:
        """Give a reservation back."""
        if self._held.pop(reservation, reservation) is None:
            self.give_back(reservation, reservation.size)

    def give_back(self, reservation: Reservation, size: int) -> None:
        """Give back a part of a reservation, and wake those who wait for it."""
        self._count(reservation, -size)
        for waiting in self._waiting:
            waiting.set()

    async def freed(self, deadline: float) -> bool:
        """Wait until something is given back. Return False after `deadline`, a time of the event loop."""
        waiting = asyncio.Event()
        self._waiting.add(waiting)
        try:
            async with asyncio.timeout_at(deadline):
                await waiting.wait()
        except TimeoutError:
            return False
        finally:
            self._waiting.discard(waiting)
        return True

    def _count(self, reservation: Reservation, more: int) -> None:
        reservation.size += more
        self._taken[reservation.person] += more
        key = reservation.person, reservation.owner
        self._by_owner[key] += more
        if not self._by_owner[key]:
            del self._by_owner[key]

    def _check_share(self, reservation: Reservation, size: int) -> None:
        if self._by_owner[False, reservation.owner] + size > self._each:
            raise self._refusal(f"{reservation.owner} has reached its limit of {self._each} {self.what}")
        if self._taken[False] + size > self._programs or self.taken + size > self._most:
            raise self._refusal(f"programs have reached their limit of {self._programs} of {self._most} {self.what}")

    def _make_room(self, newcomer: Reservation, size: int) -> None:
        while self.taken + size > self._most:
            victim = self._first_program() or self._first_of_who_has_more(newcomer, size)
            if victim is None:
                raise self._refusal(f"all {self._most} {self.what} are taken, and no one has more of them than you")
            victim.evict()

    def _first_program(self) -> Reservation | None:
        return next((each for each in self._held if not each.person and each.evictable), None)

    def _first_of_who_has_more(self, newcomer: Reservation, size: int) -> Reservation | None:
        """Return the oldest reservation of the person who has most, if that person without it still has as much as the newcomer then."""
        has = self._by_owner[True, newcomer.owner] + size
        for each in self._held:
            if (
                each.person
                and each.evictable
                and self._by_owner[True, each.owner] == self._largest()
                and self._largest() - each.size >= has
            ):
                return each
        return None

    def _largest(self) -> int:
        return max((taken for (person, _), taken in self._by_owner.items() if person), default=0)

    def _refusal(self, message: str) -> ResourceExhausted:
        return ResourceExhausted(message, retry_after=RETRY_SECONDS, limit=self._most)
