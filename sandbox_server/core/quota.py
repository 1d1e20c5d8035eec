"""Quotas: of whatever is bounded, programs have a share and each of them a smaller one, so that a person always gets in.

Programs are told apart by their credential: all tickets that one makes count as its own. Where everything is taken, a person takes the
place of the program that came first, or of the person who has most, if that leaves neither of the two with more than the other.
"""

import asyncio
from collections import Counter
from collections.abc import Callable, Coroutine
from types import TracebackType
from typing import Any, Self

from sandbox_server.core.errors import ResourceExhausted
from sandbox_server.core.tasks import start_task

RETRY_SECONDS = 1.0
NEEDED = "a person needed the place that you had"
"""Why who was evicted has to go."""


def owner_of(name: str, *, person: bool) -> str:
    """Whose the reservations of a caller are, by the caller's name: a person's own, and a program's credential's."""
    return name if person else name.partition("#")[0]


async def unless[T](evicted: asyncio.Event, work: Coroutine[Any, Any, T]) -> T:
    """Do what a place is for. Raises ResourceExhausted once it is evicted, and what the work raises."""
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
    """What one caller has of a quota, until it is closed; a context manager, which closes it."""

    def __init__(self, quota: "Quota", owner: str, leave: Callable[[], None] | None, *, person: bool) -> None:
        self._quota = quota
        self.owner = owner
        self.person = person
        self.size = 0
        self.evicted = False
        """Whether a person has it now."""
        self._leave = leave

    async def grow(self, more: int, seconds: float) -> None:
        """Reserve more, and wait so many seconds until there is as much. Raises ResourceExhausted, and then it has what it had."""
        deadline = asyncio.get_running_loop().time() + seconds
        while True:
            try:
                return self._quota.reserve(self, more)
            except ResourceExhausted:
                if not await self._quota.freed(deadline):
                    raise

    def shrink(self, size: int) -> None:
        """Give back what it has more than `size`."""
        if self.size > size:
            self._quota.give_back(self, self.size - size)

    @property
    def evictable(self) -> bool:
        """Whether who has it can be told to go."""
        return self._leave is not None

    def evict(self) -> None:
        """Give it back, and tell who has it to go."""
        self.evicted = True
        self.close()
        if self._leave:
            self._leave()

    def close(self) -> None:
        """Give it back; a second time does nothing."""
        self._quota.release(self)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.close()


class Quota:
    """So much of something: `most` for everybody, of it `programs` for programs, of that `each` for one of them.

    `what` names it in a refusal, in the plural.
    """

    def __init__(self, what: str, most: int, *, programs: int, each: int) -> None:
        if not 0 < each <= programs < most:
            raise ValueError(f"{what}: a program has less than all programs, and they have less than there is")
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
        """How much of it is taken, by whomever."""
        return self._taken.total()

    def take(self, name: str, *, person: bool, leave: Callable[[], None] | None = None, size: int = 1) -> Reservation:
        """Reserve some of it for the caller of a name. Raises ResourceExhausted.

        `leave` tells the caller to go when a person needs the place; without it nobody gets the place before it is given back.
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
        """Take something off a reservation, and tell those who wait for it."""
        self._count(reservation, -size)
        for waiting in self._waiting:
            waiting.set()

    async def freed(self, deadline: float) -> bool:
        """Wait until something is given back; False where nothing was by then. `deadline` is in the loop's time."""
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
            raise self._refusal(f"{reservation.owner} has its share of the {self.what}, which is {self._each}")
        if self._taken[False] + size > self._programs or self.taken + size > self._most:
            raise self._refusal(f"programs have their share of the {self.what}, which is {self._programs} of {self._most}")

    def _make_room(self, newcomer: Reservation, size: int) -> None:
        while self.taken + size > self._most:
            victim = self._first_program() or self._first_of_who_has_more(newcomer, size)
            if victim is None:
                raise self._refusal(f"all {self._most} {self.what} are taken, and nobody has more of them than you")
            victim.evict()

    def _first_program(self) -> Reservation | None:
        return next((each for each in self._held if not each.person and each.evictable), None)

    def _first_of_who_has_more(self, newcomer: Reservation, size: int) -> Reservation | None:
        """What the person who has most came first with, where that person still has as much without it as the newcomer has then."""
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
