"""Handoffs: an agent asks a person and waits, a person claims, answers or passes it on."""

from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Annotated, Any, Literal

from pydantic import Field, SecretStr

from sandbox_server.core import Call, Caller, Event, EventTypes, Model, PermissionDenied, Reply, operation
from sandbox_server.features.handoff.handoff import WAIT_SECONDS, AnswerHandoff, AskPerson, Handoff, HandoffRef
from sandbox_server.features.handoff.queue import HandoffQueue


class WaitForPerson(HandoffRef):
    wait: Annotated[float, Field(ge=0, le=WAIT_SECONDS)] = 0.0
    """Seconds to wait for the outcome."""


class ListHandoffs(Model):
    status: Literal["open", "closed", "all"] = "open"


class AssignHandoff(HandoffRef):
    to: Annotated[str, Field(min_length=1, max_length=200)]
    """The person who is to do it."""


class DropSecret(HandoffRef):
    field: Annotated[str, Field(max_length=64)]
    """Its name."""
    secret: Annotated[SecretStr, Field(min_length=1, max_length=4096)]
    """What is put into the page; it is kept nowhere and told to nobody."""


EVENTS = EventTypes("HandoffEvent", {"handoffs": list[Handoff]})
WITHHELD: dict[str, Any] = {"note": "", "choice": None, "values": {}, "dropped": [], "receipt": None, "deliveries": []}
"""What of an answer is not everybody's who may look."""
STILL_OPEN = "Nobody has answered yet: wait_for_human with this id waits on."
type Claimed = Callable[[Caller], Awaitable[None]]
type Drop = Callable[[str, str, str], Awaitable[None]]
"""Puts a secret into a page: the origin, the field's selector, the secret."""


class Handoffs:
    """Asks, claims, answers; `claimed` is called with who took one on, `drop` puts secrets into pages."""

    tag = "handoffs"

    def __init__(self, queue: HandoffQueue, claimed: Claimed, drop: Drop) -> None:
        self._drop = drop
        self._queue = queue
        self._claimed = claimed

    @operation("POST /v1/handoffs", scope="view", tool="request_human")
    async def request_human(self, request: AskPerson, call: Call) -> Reply[Handoff]:
        """Ask a person for what you cannot or must not do: a login, a CAPTCHA, a code, a payment, a choice, a confirmation.

        With `wait` the answer is the outcome, or the request as it stands when that time is over. It outlives this server.
        """
        made = await self._queue.ask(request, call.caller)
        return _with_hint(await self._ended(made.id, request.wait) if request.wait else made)

    @operation("GET /v1/handoffs", scope="view")
    async def list_handoffs(self, request: ListHandoffs, call: Call) -> list[Handoff]:
        """List what is asked of people; the answers are for who asked, people who may control, and admins."""
        return [_for(call.caller, each) for each in self._queue.listed(request.status)]

    @operation("GET /v1/handoffs/events", scope="view", events=EVENTS)
    async def handoff_events(self, call: Call) -> AsyncIterator[Event]:
        """Follow what is asked of people: all that is open, now and after every change."""
        return self._follow(call.caller)

    @operation("GET /v1/handoffs/{id}", scope="view", tool="wait_for_human")
    async def get_handoff(self, request: WaitForPerson, call: Call) -> Reply[Handoff]:
        """Tell how a request to a person stands; with `wait`, once it has ended.

        What was answered is for who asked, people who may control, and admins.
        """
        return _with_hint(_for(call.caller, await self._ended(request.id, request.wait)))

    @operation("POST /v1/handoffs/{id}/claim", scope="control")
    async def claim_handoff(self, request: HandoffRef, call: Call) -> Handoff:
        """Take it on, as a person: nobody else does it then."""
        _check_person(call)
        claimed = await self._queue.claim(request.id, call.caller.name)
        await self._claimed(call.caller)
        return claimed

    @operation("POST /v1/handoffs/{id}/assign", scope="control")
    async def assign_handoff(self, request: AssignHandoff, call: Call) -> Handoff:
        """Pass it on to another person."""
        _check_person(call)
        return await self._queue.assign(request.id, call.caller, request.to)

    @operation("POST /v1/handoffs/{id}/answer", scope="control")
    async def answer_handoff(self, request: AnswerHandoff, call: Call) -> Handoff:
        """Say what came of it, as a person; who has not claimed it claims it by that."""
        _check_person(call)
        await self._queue.claim(request.id, call.caller.name)
        return await self._queue.answer(request, call.caller.name, "view")

    @operation("POST /v1/handoffs/{id}/secret", scope="control", acts="cdp")
    async def drop_secret(self, request: DropSecret, call: Call) -> Handoff:
        """Put a secret into the field of the page that it was asked for, as the person who does what is asked.

        It goes into the page in front, if that is of the origin that the field names, and is told to nobody: not to who asked either. 409
        says why nothing, or not all, was filled in.
        """
        _check_person(call)
        field = self._queue.secret_field(request.id, request.field)
        await self._queue.claim(request.id, call.caller.name)
        await self._drop(field.origin or "", field.selector or "", request.secret.get_secret_value())
        return await self._queue.dropped(request.id, request.field)

    @operation("POST /v1/handoffs/{id}/reply", scope="view")
    async def reply_handoff(self, request: AnswerHandoff, call: Call) -> Handoff:
        """Pass on what the user of the client that asked answered there; the MCP process does it.

        It is as good as that client's word: `answered_in` says where the answer was given.
        """
        if call.surface != "mcp" or call.caller.name != self._queue.get(request.id).asked_by:
            raise PermissionDenied("the MCP client that asked passes on what its user answers")
        return await self._queue.answer(request, call.caller.name, "client")

    @operation("DELETE /v1/handoffs/{id}", scope="view")
    async def cancel_handoff(self, request: HandoffRef, call: Call) -> Handoff:
        """Take it back: who asked may, and an admin."""
        if call.caller.name != self._queue.get(request.id).asked_by and not call.caller.may("admin"):
            raise PermissionDenied("who asked takes it back, or an admin")
        return await self._queue.close(request.id, call.caller.name, "cancelled")

    async def _ended(self, handoff: str, seconds: float) -> Handoff:
        """Wait until one has ended, or so long; then with the receipt of who answered it."""
        return await self._queue.with_receipt(await self._queue.closed(handoff, seconds))

    async def _follow(self, caller: Caller) -> AsyncIterator[Event]:
        async for found in self._queue.news():
            yield Event("handoffs", [_for(caller, each) for each in found])


def _for(caller: Caller, handoff: Handoff) -> Handoff:
    """One of them as the caller may see it."""
    if caller.name == handoff.asked_by or caller.may("admin") or (caller.person and caller.may("control")):
        return handoff
    return handoff.model_copy(update=WITHHELD)


def _with_hint(handoff: Handoff) -> Reply[Handoff]:
    return Reply(handoff, hint=None if handoff.status == "closed" else STILL_OPEN)


def _check_person(call: Call) -> None:
    if not call.caller.person:
        raise PermissionDenied("a person answers this, signed in with a browser")
