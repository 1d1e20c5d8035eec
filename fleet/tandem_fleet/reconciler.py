"""Makes what exists in the engine be what the store says, and keeps it so.

It looks at every sandbox when it starts, every half minute, when the engine tells of a change, and when it is told to. What it knows is in
the store and in the engine: one that is killed and started again goes on where it was.
"""

import asyncio
import logging
import time
from collections import defaultdict
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from typing import Protocol

from sqlalchemy.exc import SQLAlchemyError

from tandem_fleet.backends.backend import Backend, Found, Order, Phase
from tandem_fleet.convergence import Action, Step, next_step
from tandem_fleet.errors import EngineError, EngineUnreachableError, FleetError, NotFoundError
from tandem_fleet.sandbox_http import sandbox_http, says_ready
from tandem_fleet.sandboxes import Desired, Sandbox, State
from tandem_fleet.store.sandboxes import SandboxStore

RESYNC_SECONDS = 30.0
RETRY_SECONDS = 5.0
READY_SECONDS = 180.0
"""How long a sandbox may take until it answers that it is ready."""
POLL_SECONDS = 0.1
CALL_SECONDS = 5.0
AT_ONCE = 8
"""Calls of the engine at the same time. Who waits for a sandbox to be ready holds none of these places."""
ENGINE_SECONDS = 180.0
"""How long a call of the engine may take."""
WAITING = 32
"""Sandboxes of one tenant that are waited for at the same time: those of one tenant hold up no other's."""
LONGEST_WAIT = 60.0
STEPS = 1000
"""Steps for one sandbox in a row, before others have their turn."""
_log = logging.getLogger(__name__)


class Preparing(Protocol):
    """What is done when a sandbox answers, before it is ready."""

    async def prepare(self, sandbox: Sandbox) -> None:
        """Raises `EngineError` where it cannot be done."""

    def is_held(self, sandbox: str) -> bool:
        """Whether it could not, and is not tried again yet."""


@contextmanager
def _said(what: str) -> Iterator[None]:
    """Log what goes wrong and go on: what was not done is done when all are compared the next time."""
    try:
        yield
    except EngineError as error:
        _log.warning("cannot %s: %s", what, error)
    except (OSError, ValueError, SQLAlchemyError, FleetError):
        _log.exception("cannot %s", what)


class Reconciler:
    """The loop. `order` makes what the engine is told of a sandbox."""

    def __init__(self, store: SandboxStore, backend: Backend, order: Callable[[Sandbox], Order], preparing: Preparing) -> None:
        self._store = store
        self._backend = backend
        self._order = order
        self._preparing = preparing
        self._places = asyncio.Semaphore(AT_ONCE)
        self._waiting: defaultdict[str, asyncio.Semaphore] = defaultdict(lambda: asyncio.Semaphore(WAITING))
        self._working: dict[str, asyncio.Task[None]] = {}
        self._again: set[str] = set()
        self._leads = False
        self._tasks: list[asyncio.Task[None]] = []
        self._http = sandbox_http(timeout=CALL_SECONDS)
        self._actions: dict[Action, Callable[[Sandbox], Awaitable[None]]] = {
            Action.CREATE: self._create,
            Action.START: lambda sandbox: backend.start(sandbox.id),
            Action.STOP: lambda sandbox: backend.stop(sandbox.id),
            Action.PAUSE: lambda sandbox: backend.pause(sandbox.id),
            Action.DELETE: self._delete,
        }

    async def start(self) -> None:
        """Compare all once, then go on by itself."""
        self._leads = True
        await self.compare()
        self._tasks = [asyncio.create_task(self._compare_again()), asyncio.create_task(self._follow())]

    async def stop(self) -> None:
        """Stop working; what was begun is gone on with by the next one."""
        self._leads = False
        running = [*self._tasks, *self._working.values()]
        for task in running:
            task.cancel()
        await asyncio.gather(*running, return_exceptions=True)

    async def close(self) -> None:
        """Let go of connections."""
        await self._http.aclose()

    def poke(self, sandbox: str) -> None:
        """Look at a sandbox soon, also if it is being worked on. Where another service works on the fleet, that one does."""
        if not self._leads:
            return
        if sandbox in self._working:
            self._again.add(sandbox)
            return
        self._working[sandbox] = asyncio.create_task(self._work(sandbox))

    def note(self, sandbox: Sandbox) -> None:
        """Look at a sandbox that another service may have been asked to change."""
        if not sandbox.is_settled:
            self.poke(sandbox.id)

    async def compare(self) -> None:
        """Look at all sandboxes, of the engine and of the store.

        One that the store does not know is adopted. One that was deleted goes.
        """
        existing = {found.id: found for found in await self._backend.list_all()}
        known = {sandbox.id: sandbox async for sandbox in self._store.all()}
        for found in existing.values():
            if found.id not in known:
                await self._adopt(found)
        for sandbox in known.values():
            step = next_step(sandbox, existing.get(sandbox.id), datetime.now(UTC))
            if (step.action, step.state) != (Action.NOTHING, sandbox.state):
                self.poke(sandbox.id)

    async def _adopt(self, found: Found) -> None:
        try:
            await self._store.get(found.id)
        except NotFoundError:
            await self._store.adopt(found)
            _log.warning("sandbox %s (%s) exists in the engine and not in the store: it is adopted", found.id, found.name)
        self.poke(found.id)

    async def _compare_again(self) -> None:
        while True:
            await asyncio.sleep(RESYNC_SECONDS)
            with _said("compare all sandboxes"):
                await self.compare()

    async def _follow(self) -> None:
        while True:
            with _said("follow the engine's events"):
                async for sandbox in self._backend.watch():
                    self.poke(sandbox)
            await asyncio.sleep(RETRY_SECONDS)

    async def _work(self, sandbox: str) -> None:
        try:
            with _said(f"work on {sandbox}"):
                await self._converge(sandbox)
        finally:
            del self._working[sandbox]
            if sandbox in self._again:
                self._again.discard(sandbox)
                self.poke(sandbox)

    async def _converge(self, number: str) -> None:
        """Take step after step until there is none left."""
        for _ in range(STEPS):
            sandbox = await self._store.get(number)
            try:
                async with self._places, asyncio.timeout(ENGINE_SECONDS):
                    found = await self._backend.find(number)
                if await self._take(sandbox, found, next_step(sandbox, found, datetime.now(UTC))):
                    return
            except EngineUnreachableError:
                raise  # it is worked on again when all are compared
            except EngineError as error:
                await self._fail(sandbox, str(error))
                return

    async def _take(self, sandbox: Sandbox, found: Found | None, step: Step) -> bool:
        """Take a step; whether it was the last."""
        if step.action == Action.PROBE and sandbox.state == State.FAILED and self._preparing.is_held(sandbox.id):
            return True
        values = {"state": step.state, "reason": step.reason, "failures": step.failures}
        told = all(getattr(sandbox, name) == value for name, value in values.items())
        if step.action == Action.NOTHING:
            address = found.address if found else ""
            if told and sandbox.address == address:
                return True  # what is ordered meanwhile is looked at again
            return (await self._store.change_from(sandbox, sandbox.id, address=address, **values))[1]
        if not told and not (await self._store.change_from(sandbox, sandbox.id, **values))[1]:
            return False  # something was ordered since it was looked at
        if step.action == Action.START and step.failures:
            await asyncio.sleep(min(LONGEST_WAIT, 2.0**step.failures))
        if step.action == Action.PROBE:
            async with self._waiting[sandbox.tenant]:
                await self._probe(sandbox)
            return False
        async with self._places, asyncio.timeout(ENGINE_SECONDS):
            await self._actions[step.action](sandbox)
        return False

    async def _create(self, sandbox: Sandbox) -> None:
        await self._backend.create(self._order(sandbox))
        await self._store.change(sandbox.id, state=State.STARTING)

    async def _delete(self, sandbox: Sandbox) -> None:
        await self._backend.delete(sandbox.id)
        await self._store.change(sandbox.id, state=State.DELETED, reason="", address="")

    async def _probe(self, sandbox: Sandbox) -> None:
        """Wait until it answers that it is ready, is no longer to run, or ended."""
        deadline, found = time.monotonic() + READY_SECONDS, None
        while time.monotonic() < deadline:
            found = await self._backend.find(sandbox.id)
            now = await self._store.get(sandbox.id)
            if found is None or found.phase != Phase.RUNNING or now.desired != Desired.RUNNING:
                return
            for _ in range(10):
                if found.address and await says_ready(self._http, found.address, CALL_SECONDS):
                    await self._preparing.prepare(now.model_copy(update={"address": found.address}))
                    await self._store.change_from(now, sandbox.id, state=State.READY, reason="", address=found.address)
                    return
                await asyncio.sleep(POLL_SECONDS)
        why = f": {found.reason}" if found and found.reason else ""
        await self._store.change(sandbox.id, state=State.FAILED, reason=f"it was not ready within {READY_SECONDS:g} s{why}")

    async def _fail(self, sandbox: Sandbox, reason: str) -> None:
        """Say why a step could not be taken. What shall be deleted, stopped or paused is tried again with the next comparison."""
        failed = {"state": State.FAILED} if sandbox.desired == Desired.RUNNING else {}
        await self._store.change(sandbox.id, reason=reason, **failed)
