"""Keeps the control lease: on disk, by the clock, for whoever watches and waits."""

import asyncio
import logging
import secrets
import time
from collections import Counter, deque
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import replace
from types import TracebackType
from typing import Literal, Self

from sandbox_server.core import Caller, Failure, Tasks, Unavailable
from sandbox_server.core.control import ON_SCREEN, Holding, Reach
from sandbox_server.core.receipt import Receipt
from sandbox_server.core.tasks import ACCESS, in_thread
from sandbox_server.drivers.storage.json_file import JsonFile
from sandbox_server.features.control import lease_state_machine as machine
from sandbox_server.features.control.lease_change import LeaseChange
from sandbox_server.features.control.lease_file import read_lease
from sandbox_server.features.control.lease_listeners import LeaseListeners
from sandbox_server.features.control.lease_state_machine import Lease, LeaseActor, LeaseTimes
from sandbox_server.features.control.paused_agent import AgentPause, PausedAgent
from sandbox_server.timeouts import scaled

CLOSE_SECONDS = scaled(6.0)
"""How long the end of privacy waits for what has to be closed before anybody else sees the screen."""
HOOK_SECONDS = scaled(0.6)
"""How long taking over waits for what has to stop; it is taken then all the same."""
MAX_NEWS = 256
"""Changes that are kept for who reads them later."""

type Policy = Literal["implicit", "click", "ask"]
type RevocationHook = Callable[[Holding], Awaitable[None]]
"""Makes something keep to a new holding; it may fail with a Failure, and is then left to try again by itself."""
type Clock = Callable[[], float]
type Reason = Callable[[str], bool]
"""Whether what a person of that name does is to be hidden as soon as that person has control."""
type Step = Callable[[Lease, float], Lease]

log = logging.getLogger("sandbox.control")


class LeaseKeeper:
    """The one lease; an asynchronous context manager. `hooks` are called, in order, before a change counts as made."""

    def __init__(
        self,
        file: JsonFile,
        times: LeaseTimes,
        policy: Policy,
        hooks: Sequence[RevocationHook],
        clock: Clock = time.monotonic,
        listeners: LeaseListeners | None = None,
        pause: AgentPause | None = None,
    ) -> None:
        self._file = file
        self._times = times
        self.policy = policy
        self._hooks: list[RevocationHook] = [*hooks, *([pause] if pause else [])]
        self._pause = pause
        self._clock = clock
        self._lease = read_lease(file, clock())
        self._viewers: Counter[str] = Counter()
        self._people: dict[str, Caller] = {}
        self._news: deque[LeaseChange] = deque(maxlen=MAX_NEWS)
        self._life, self._number = secrets.token_hex(4), 0
        self._changed = asyncio.Event()
        self._told = asyncio.Event()
        self._revoking = asyncio.Lock()
        self._warned = 0.0
        self.agent_seen = False
        """Whether a program has called since the server started."""
        self.receipt: Receipt | None = None
        """What the last person changed who had control; None while one has, and while it is not known yet."""
        self._tasks = Tasks()
        self._reasons: list[Reason] = []
        self._listeners = listeners or LeaseListeners()

    async def __aenter__(self) -> Self:
        self._tasks.start(self._run_hooks(starting=True), name="control at start")
        self._tasks.start(self._watch_clock(), name="control by the clock")
        return self

    async def __aexit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        await self._tasks.close()

    def follow(self, hook: RevocationHook) -> None:
        """Have one more thing keep to every change from now on."""
        self._hooks.append(hook)

    def hide_when(self, reason: Reason) -> None:
        """Hide what a person does, from the moment that person takes the screen, where `reason` holds for the name."""
        self._reasons.append(reason)

    @property
    def lease(self) -> Lease:
        """As it is now."""
        return self._lease

    @property
    def paused(self) -> PausedAgent | None:
        """The agent's programs that stand still; None where they go on."""
        return self._pause.paused if self._pause else None

    @property
    def holding(self) -> Holding:
        """Who may act now."""
        return self._lease.holding

    def drives(self, caller: Caller, reach: Reach) -> bool:
        """Whether the caller's input counts now."""
        return self.holding.drives(caller, reach)

    def sees(self, caller: Caller) -> bool:
        """Whether the caller may see the screen and the pages now."""
        return self.holding.sees(caller)

    async def drive(self, caller: Caller, reach: Reach) -> bool:
        """Take an input that means to act: whether it counts. A person's first one takes the lease, where the settings let it."""
        if not self.drives(caller, reach) and caller.person and self._is_free_for(caller):
            with suppress(Failure):  # somebody else was quicker, or too many wait
                await self._take_by_input(actor_of(caller), reach)
        async with self._revoking:  # what a take has not yet stopped comes before this input
            pass
        if not self.drives(caller, reach):
            return False
        self.touch(caller)
        return True

    def note(self, caller: Caller, what: str, count: int) -> None:
        """Tell that the caller put in so many keys, clicks and the like."""
        self._listeners.noted(caller, what, count)

    def entered(self, caller: Caller, session: str, line: str) -> None:
        """Tell that the caller entered a line at the prompt of a shell session."""
        self._listeners.lines(caller, session, line)

    def take_receipt(self, receipt: Receipt | None) -> None:
        """Take what a person changed, once that is known; None while a person drives again."""
        self.receipt = receipt
        if receipt:
            self._tell("receipt", receipt.person, person=True)

    def announce(self, kind: str, caller: Caller, note: str) -> None:
        """Tell whoever watches what somebody did that changes nothing of the lease."""
        self._tell(kind, caller.name, person=caller.person, note=note)

    def forget_paused(self) -> None:
        """Note that nothing stands still: what did has ended."""
        if self._pause:
            self._pause.forget()

    async def _take_by_input(self, actor: LeaseActor, reach: Reach) -> None:
        wanted, holds = _with(reach), self.holding.holder == actor.name
        if self.policy == "implicit" or (holds and self.policy == "ask"):
            viewing = self.is_viewing(actor.name)
            await self.change("taken", actor, lambda lease, now: machine.take(lease, actor, wanted, now, viewing=viewing))
        elif self.policy == "ask" and actor.name not in [asked.actor.name for asked in self._lease.requests]:
            await self.change("requested", actor, lambda lease, now: machine.request(lease, actor, wanted, now, self._times))

    async def change(self, kind: str, actor: LeaseActor, step: Step, note: str = "") -> Lease:
        """Do something to the lease. Returns once it counts: nobody else acts any more. Raises what the step raises.

        It is told then, too: whoever is shown that control is free takes it with the next click.
        """
        now = self._clock()
        if self._shows_again(step(self._lease, now)):
            await self._close_what_was_private()
            now = self._clock()
        before = self._lease
        try:
            self._keep(self._hidden_at_once(before, step(before, now)))  # of the same time: what was not over is not over now
            if self._lease.holding != before.holding:
                log.info("control: %s by %s, epoch %d, %s", kind, actor.name, self.holding.epoch, self.holding.holder or self.holding.state)
                await self._run_hooks()
        finally:
            if _shows(self._lease, before):
                self._tell(kind, actor.name, person=actor.person, note=note)
        return self._lease

    def _shows_again(self, lease: Lease) -> bool:
        return self.holding.private not in (None, lease.holding.private)

    async def _close_what_was_private(self) -> None:
        for close in self._listeners.before_shown:
            try:
                async with asyncio.timeout(CLOSE_SECONDS):
                    await close()
            except (Failure, TimeoutError) as failure:
                log.warning("privacy ends although not everything was closed: %s", failure or "too slow")

    async def hide(self, reason: str) -> None:
        """Begin to hide what the holder of screen and pages does, unless that is so already, or nobody holds them."""
        if self._holds_screen(self._lease):
            await self.change(f"private:{reason}", self._holder(self._lease), self._hide)

    def _hidden_at_once(self, before: Lease, lease: Lease) -> Lease:
        """The lease after a person took the screen for whom it is to be hidden from the start."""
        holder = lease.holding.holder or ""
        new = before.holding.holder != holder or not before.holding.reach & ON_SCREEN
        if not new or not self._holds_screen(lease) or not any(reason(holder) for reason in self._reasons):
            return lease
        return self._hide(lease, self._clock())

    def _holds_screen(self, lease: Lease) -> bool:
        return lease.state == "human" and bool(lease.holding.reach & ON_SCREEN) and lease.holding.private is None

    def _hide(self, lease: Lease, now: float) -> Lease:
        return machine.hide(lease, self._holder(lease), now, viewing=lease.gone is None)

    def _holder(self, lease: Lease) -> LeaseActor:
        return LeaseActor(lease.holding.holder or "", person=True)

    async def expel(self, name: str) -> None:
        """Take control from a person who was signed out: the agent has it again."""
        if self.holding.holder == name:
            await self.change(
                "expelled", LeaseActor(name, person=True), lambda lease, now: machine.release(lease, LeaseActor(name, person=True), now)
            )

    def remaining(self, lease: Lease) -> tuple[float, machine.Ending] | None:
        """In how many seconds control returns by itself, and why; None where it does not."""
        ends = machine.ending(lease, self._times)
        return (self.seconds_until(ends[0]), ends[1]) if ends else None

    def seconds_since(self, when: float) -> float:
        """Seconds from a time of the lease until now."""
        return max(0.0, self._clock() - when)

    def seconds_until(self, when: float) -> float:
        """Seconds from now until a time of the lease."""
        return max(0.0, when - self._clock())

    @property
    def times(self) -> LeaseTimes:
        """The settings."""
        return self._times

    @property
    def viewers(self) -> list[Caller]:
        """The people who watch, by name."""
        return [self._people[name] for name in sorted(self._viewers)]

    def is_viewing(self, name: str) -> bool:
        """Whether somebody has a viewer open."""
        return self._viewers[name] > 0

    @contextmanager
    def watching(self, caller: Caller) -> Iterator[None]:
        """While it is open the caller has a viewer; programs are none."""
        if not caller.person:
            yield
            return
        self._viewers[caller.name] += 1
        self._people[caller.name] = caller
        self._set("came", caller.name, machine.came(self._lease, caller.name), person=True, always=self._viewers[caller.name] == 1)
        try:
            yield
        finally:
            self._viewers[caller.name] -= 1
            if not self._viewers[caller.name]:
                del self._viewers[caller.name], self._people[caller.name]
                self._set("left", caller.name, machine.went(self._lease, caller.name, self._clock()), person=True, always=True)

    def see_agent(self) -> None:
        """Note that a program has called."""
        if not self.agent_seen:
            self.agent_seen = True
            self._tell("connected", "")

    async def changed(self) -> None:
        """Wait until somebody else may act."""
        await self._changed.wait()

    async def until(self, holds: Callable[[Holding], bool], seconds: float) -> bool:
        """Wait until something is true of who may act; whether it became so in time."""
        try:
            async with asyncio.timeout(seconds):
                while not holds(self.holding):
                    await self._changed.wait()
        except TimeoutError:
            return False
        return True

    async def news(self, after: str | None) -> AsyncIterator[LeaseChange]:
        """What changes, from now on or from after the news of that id: first the state as it is, if nothing is known of it."""
        known = next((each for each in self._news if each.id == after), None)
        number = int(known.id.partition("-")[2]) if known else self._number
        if known is None:
            yield LeaseChange(self._id(), "state", "", self._lease)
        while True:
            for each in [each for each in self._news if int(each.id.partition("-")[2]) > number]:
                number = int(each.id.partition("-")[2])
                yield each
            if number == self._number:
                await self._told.wait()

    def _id(self) -> str:
        return f"{self._life}-{self._number}"

    def _is_free_for(self, caller: Caller) -> bool:
        return self._lease.state == "agent" or self.holding.is_holder(caller)

    def touch(self, caller: Caller) -> None:
        """Note the holder's input: the idle time begins anew."""
        warned = self._is_warned()
        self._lease = machine.touch(self._lease, caller.name, self._clock())
        if warned and not self._is_warned():
            self._tell("renewed", caller.name, person=True)

    def _is_warned(self) -> bool:
        left = self.remaining(self._lease)
        return left is not None and left[0] <= self._times.countdown

    def _set(self, kind: str, by: str, lease: Lease, *, person: bool = False, always: bool = False) -> None:
        before = self._lease
        self._keep(lease)
        if always or _shows(lease, before):
            self._tell(kind, by, person=person)

    def _keep(self, lease: Lease) -> None:
        before, self._lease = self._lease, lease
        if lease.holding != before.holding:
            self._changed.set()
            self._changed.clear()

    def _tell(self, kind: str, by: str, *, person: bool = False, note: str = "") -> None:
        self._number += 1
        self._news.append(LeaseChange(self._id(), kind, by, self._lease, person, note))
        self._told.set()
        self._told.clear()

    async def _run_hooks(self, *, starting: bool = False) -> None:
        """Make everything keep to what holds now, in the order of changes; what is not there yet when this starts is told when it comes."""
        async with self._revoking:
            await in_thread(self._write, executor=ACCESS)
            for hook in self._hooks:
                try:
                    async with asyncio.timeout(HOOK_SECONDS):
                        await hook(self.holding)
                except (Failure, OSError, TimeoutError) as failure:
                    expected = starting and isinstance(failure, Unavailable)
                    level = logging.DEBUG if expected else logging.WARNING
                    log.log(level, "control changed although not everything followed: %s", failure or "too slow")

    def _write(self) -> None:
        since = time.time() - (self._clock() - self._lease.since)
        try:
            self._file.write(self.holding.dumps() | {"since": since})
        except OSError as error:
            log.warning("the lease is not kept on disk: %s", error)

    async def _watch_clock(self) -> None:
        """Do what is due, and tell the holder before control returns."""
        while True:
            try:
                async with asyncio.timeout_at(self._loop_time(self._next_due())):
                    await self._told.wait()
            except TimeoutError:
                await self._tick()

    def _next_due(self) -> float | None:
        due = machine.due(self._lease, self._times)
        ends = machine.ending(self._lease, self._times)
        warning = ends[0] - self._times.countdown if ends else None
        if warning is not None and warning > self._warned:
            return warning if due is None else min(due, warning)
        return due

    def _loop_time(self, when: float | None) -> float | None:
        return None if when is None else asyncio.get_running_loop().time() + when - self._clock()

    async def _tick(self) -> None:
        now, system = self._clock(), LeaseActor("clock", person=False)
        ends = machine.ending(self._lease, self._times)
        if ends and now >= ends[0] - self._times.countdown and self._warned < ends[0] - self._times.countdown:
            self._warned = ends[0] - self._times.countdown
            self._tell("countdown", system.name)
        kind = f"returned:{ends[1]}" if ends and ends[0] <= now else "answered"
        await self.change(kind, system, lambda lease, at: machine.tick(lease, at, self._times, frozenset(self._viewers)))


def _shows(lease: Lease, before: Lease) -> bool:
    """Whether a change is to be seen: that the holder is still there is none."""
    return replace(lease, active=0) != replace(before, active=0)


def actor_of(caller: Caller) -> LeaseActor:
    """The caller as the lease knows it."""
    return LeaseActor(caller.name, caller.person, caller.may("admin"))


def _with(reach: Reach) -> frozenset[Reach]:
    """Who takes the screen takes the pages that are on it, and the other way about."""
    return ON_SCREEN if reach in ON_SCREEN else frozenset({reach})
