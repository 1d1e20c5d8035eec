"""All sandboxes of a tenant at work, for people who look at them: followed as long as somebody does."""

import asyncio
import re
import secrets
from collections.abc import AsyncIterator, Coroutine
from contextlib import suppress
from typing import Any

from tandem_fleet.errors import ConflictError, NotFoundError
from tandem_fleet.people.answers import UnusableAnswer, parsed
from tandem_fleet.people.pictures import Picture, Pictures, UnusablePicture
from tandem_fleet.people.questions import Question
from tandem_fleet.people.sandbox_calls import SandboxCalls
from tandem_fleet.people.tenant_watch import TenantWatch
from tandem_fleet.people.wall_page import WallEvent, WallPage
from tandem_fleet.sandboxes import Sandbox, State
from tandem_fleet.scopes import SCOPES
from tandem_fleet.store.people import PeopleStore
from tandem_fleet.store.sandboxes import SandboxStore

LINK_SCOPES = sorted(SCOPES - {"admin"})
"""What a person may do in a sandbox that was opened from the wall."""
TICKET = re.compile(r"[\w.~-]{1,512}")
LINGER_SECONDS = 60.0
"""How long sandboxes are followed after the last look: the next one finds what is known."""
MOST_PAGES = 64
"""Open pages of a tenant."""
FIRST_SECONDS = 3.0
"""How long the first look at the queue waits for sandboxes that do not answer."""


class Wall:
    """The walls of all tenants."""

    def __init__(self, sandboxes: SandboxStore, people: PeopleStore, calls: SandboxCalls) -> None:
        self._sandboxes = sandboxes
        self._people = people
        self._calls = calls
        self._watches: dict[str, TenantWatch] = {}
        self._opening = asyncio.Lock()
        self._ending: dict[str, asyncio.TimerHandle] = {}
        self._running: set[asyncio.Task[None]] = set()

    async def close(self) -> None:
        """Follow nothing any more."""
        for timer in self._ending.values():
            timer.cancel()
        for watch in self._watches.values():
            await watch.close()
        self._watches.clear()
        await asyncio.gather(*self._running)
        await self._calls.close()

    def require_room(self, tenant: str) -> None:
        """Raise `ConflictError` where too many pages are open."""
        if (watch := self._watches.get(tenant)) and len(watch.pages) >= MOST_PAGES:
            raise ConflictError(f"{MOST_PAGES} pages are open already")

    async def events(self, tenant: str, session: str) -> AsyncIterator[WallEvent]:
        """What a page shows: all at first, then what changes, and signs of life."""
        watch = await self._watch(tenant)
        page = WallPage(secrets.token_urlsafe(9), session)
        watch.pages[page.number] = page
        try:
            yield watch.snapshot(page)
            async for event in page.news(watch):
                yield event
        finally:
            watch.pages.pop(page.number, None)
            self._begin(watch.look())  # not here: whoever is cut off may await nothing
            self._leave(tenant)

    async def see(self, tenant: str, page: str, sandboxes: frozenset[str]) -> None:
        """Say which sandboxes a page has in sight. Raises `NotFoundError` for a page that is not open."""
        watch = self._watches.get(tenant)
        if watch is None or page not in watch.pages:
            raise NotFoundError("there is no such page")
        watch.pages[page].sight = sandboxes
        await watch.look()

    async def queue(self, tenant: str, session: str) -> list[Question]:
        """What is asked of people, the most urgent first."""
        watch = await self._watch(tenant)
        try:
            await watch.reached(FIRST_SECONDS)
            await watch.read_claims()
        finally:
            self._leave(tenant)
        return watch.queue(session)

    async def claim(self, tenant: str, number: str, person: str, session: str) -> Question:
        """Have one person take on what is asked. Raises `NotFoundError`, `ConflictError`."""
        _, question = await self.question(tenant, number, session)
        if question.claimed_by and not question.mine:
            raise ConflictError(f"{question.claimed_by} has claimed this")
        await self._people.claim(tenant, number, person, session)
        return question.model_copy(update={"claimed_by": person, "mine": True})

    async def answer(self, tenant: str, number: str, person: str, session: str, answer: dict[str, str]) -> None:
        """Answer what is asked, as a person. Raises `NotFoundError`, `ConflictError`."""
        sandbox, question = await self.question(tenant, number, session)
        if question.claimed_by and not question.mine:
            raise ConflictError(f"{question.claimed_by} has claimed this")
        if (answer["outcome"], answer.get("choice")) not in [(one.outcome, one.choice) for one in question.answers]:
            raise ConflictError("this cannot be answered so: open the sandbox")
        path = f"/v1/handoffs/{number.partition('.')[2]}/answer"
        try:
            answered = await self._calls.call(sandbox, "POST", path, scopes=["view", "control"], person=person, body=answer)
        except UnusableAnswer as error:
            raise ConflictError(f"{sandbox.name} did not take the answer: {error}") from error
        if answered.status != 200:
            raise ConflictError(answered.message)
        await self._people.release(tenant, number, session)

    async def question(self, tenant: str, number: str, session: str) -> tuple[Sandbox, Question]:
        """One of them. Raises `NotFoundError`."""
        found = next((one for one in await self.queue(tenant, session) if one.id == number), None)
        if found is None:
            raise NotFoundError("this is not asked any more")
        return await self._sandboxes.find(tenant, found.sandbox), found

    def kept_picture(self, tenant: str, sandbox: str) -> Picture | None:
        """The newest picture of a sandbox of the tenant, by its id, that somebody looks at."""
        watch = self._watches.get(tenant)
        return watch.pictures.get(sandbox) if watch else None

    async def picture(self, sandbox: Sandbox) -> Picture:
        """The newest picture of a sandbox: what is kept where somebody looks, or else a new one. Raises `NotFoundError`."""
        if kept := self.kept_picture(sandbox.tenant, sandbox.id):
            return kept
        if sandbox.state != State.READY:
            raise NotFoundError(f"{sandbox.name} is {sandbox.state} and shows nothing")
        taken = Pictures(self._calls, lambda _: None)
        with suppress(UnusableAnswer, UnusablePicture):
            await taken.take(sandbox)
        if (found := taken.get(sandbox.id)) is None:
            raise NotFoundError(f"{sandbox.name} shows nothing now")
        return found

    async def link(self, sandbox: Sandbox, person: str, place: str = "") -> str:
        """A link that opens a sandbox's live page once, signed in as a person: at the gateway's `place`, or where the sandbox answers.

        Raises `ConflictError` where it does not answer.
        """
        if sandbox.state != State.READY:
            raise ConflictError(f"{sandbox.name} is {sandbox.state}")
        try:
            answer = await self._calls.call(
                sandbox, "POST", "/tickets", scopes=LINK_SCOPES, person=person, body={"actor": "person", "scopes": LINK_SCOPES}
            )
            ticket = parsed(answer.content)["ticket"] if answer.status == 200 else None
        except (UnusableAnswer, LookupError, TypeError):
            ticket = None
        if not isinstance(ticket, str) or not TICKET.fullmatch(ticket):
            raise ConflictError(f"{sandbox.name} gave no ticket")
        return f"{place or sandbox.address}/view?ticket={ticket}"

    async def _watch(self, tenant: str) -> TenantWatch:
        """The watch of a tenant, which is begun by whoever comes first."""
        if timer := self._ending.pop(tenant, None):
            timer.cancel()
        async with self._opening:
            if tenant not in self._watches:
                watch = TenantWatch(tenant, self._sandboxes, self._people, self._calls)
                await watch.open()
                self._watches[tenant] = watch
        return self._watches[tenant]

    def _leave(self, tenant: str) -> None:
        """End the watch of a tenant a while after the last look."""
        if timer := self._ending.pop(tenant, None):
            timer.cancel()
        self._ending[tenant] = asyncio.get_running_loop().call_later(LINGER_SECONDS, self._end, tenant)

    def _end(self, tenant: str) -> None:
        self._ending.pop(tenant, None)
        watch = self._watches.get(tenant)
        if watch and not watch.pages:
            del self._watches[tenant]
            self._begin(watch.close())

    def _begin(self, work: Coroutine[Any, Any, None]) -> None:
        task = asyncio.create_task(work)
        self._running.add(task)
        task.add_done_callback(self._running.discard)
