"""Handoffs: an agent asks a person and waits; a person claims, answers or reassigns."""

from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Annotated, Any, Literal

from pydantic import Field, SecretStr

from sandbox_server.core import Call, Caller, Event, EventTypes, Model, PermissionDenied, Reply, operation
from sandbox_server.core.control import shown_to
from sandbox_server.features.handoff.handoff import WAIT_SECONDS, AnswerHandoff, AskPerson, Handoff, HandoffRef
from sandbox_server.features.handoff.queue import HandoffQueue


class WaitForPerson(HandoffRef):
    wait: Annotated[float, Field(ge=0, le=WAIT_SECONDS)] = 0.0
    """Seconds to wait for the outcome."""


class ListHandoffs(Model):
    status: Literal["open", "closed", "all"] = "open"


class AssignHandoff(HandoffRef):
    to: Annotated[str, Field(min_length=1, max_length=200)]
    """The person to assign it to."""


class DropSecret(HandoffRef):
    field: Annotated[str, Field(max_length=64)]
    """Its name."""
    secret: Annotated[SecretStr, Field(min_length=1, max_length=4096)]
    """The value for the page. It is neither stored nor returned."""


EVENTS = EventTypes("HandoffEvent", {"handoffs": list[Handoff]})
WITHHELD: dict[str, Any] = {"note": "", "choice": None, "confirmed": None, "values": {}, "dropped": [], "receipt": None, "deliveries": []}
"""Replaces the parts of an answer that not everyone with the scope `view` may see."""
STILL_OPEN = "Nobody has answered yet: wait_for_human with this id waits on."
type Claimed = Callable[[Caller], Awaitable[None]]
type Drop = Callable[[str, str, str], Awaitable[None]]
"""Fills a secret into a page: the origin, the field's selector, the secret."""


class Handoffs:
    """Requests, claims and answers.

    `claimed` is called with the person who claimed one; `drop` fills secrets into pages.
    """

    tag = "handoffs"

    def __init__(self, queue: HandoffQueue, claimed: Claimed, drop: Drop) -> None:
        self._drop = drop
        self._queue = queue
        self._claimed = claimed

    @operation("POST /v1/handoffs", scope="view", tool="request_human", open_world=True)
    async def request_human(self, request: AskPerson, call: Call) -> Reply[Handoff]:
        """Ask a person for what you cannot or must not do: a login, a CAPTCHA, a code, a payment, a choice, a confirmation.

        With `wait` the answer is the outcome, or the open request after that time. The request survives a restart of
        the server.
        """
        made = await self._queue.ask(request, call.caller)
        return _with_hint(await self._wait_closed(made.id, request.wait) if request.wait else made)

    @operation("GET /v1/handoffs", scope="view")
    async def list_handoffs(self, request: ListHandoffs, call: Call) -> list[Handoff]:
        """List handoffs. Answers are visible to the requester, to people who may control, and to admins."""
        return _all_visible_to(call.caller, self._queue.listed(request.status))

    @operation("GET /v1/handoffs/events", scope="view", events=EVENTS)
    async def handoff_events(self, call: Call) -> AsyncIterator[Event]:
        """Stream all open handoffs, now and after every change."""
        return self._follow(call.caller)

    @operation("GET /v1/handoffs/{id}", scope="view", tool="wait_for_human", open_world=True)
    async def get_handoff(self, request: WaitForPerson, call: Call) -> Reply[Handoff]:
        """Return a handoff; with `wait`, once it has ended.

        Its answer is visible to the requester, to people who may control, and to admins.
        """
        self._queue.check_shown(request.id, call.caller)
        return _with_hint(_visible_to(call.caller, await self._wait_closed(request.id, request.wait)))

    @operation("POST /v1/handoffs/{id}/claim", scope="control")
    async def claim_handoff(self, request: HandoffRef, call: Call) -> Handoff:
        """Claim a handoff, as a person. Nobody else can claim it then."""
        self._queue.check_shown(request.id, call.caller)
        _check_person(call)
        claimed = await self._queue.claim(request.id, call.caller.name)
        await self._claimed(call.caller)
        return claimed

    @operation("POST /v1/handoffs/{id}/assign", scope="control")
    async def assign_handoff(self, request: AssignHandoff, call: Call) -> Handoff:
        """Assign a handoff to another person."""
        self._queue.check_shown(request.id, call.caller)
        _check_person(call)
        return await self._queue.assign(request.id, call.caller, request.to)

    @operation("POST /v1/handoffs/{id}/answer", scope="control")
    async def answer_handoff(self, request: AnswerHandoff, call: Call) -> Handoff:
        """Answer a handoff, as a person. It need not be claimed, and the screen need not be taken.

        The first answer counts. 409 says that somebody else answered or claimed it, that it was withdrawn, or that it expired.
        """
        self._queue.check_shown(request.id, call.caller)
        _check_person(call)
        return await self._queue.answer(request, call.caller.name, "view")

    @operation("POST /v1/handoffs/{id}/secret", scope="control", acts="cdp")
    async def drop_secret(self, request: DropSecret, call: Call) -> Handoff:
        """Fill a secret into the field of a handoff, as the person who has claimed it.

        It goes into the page in front, if that has the field's origin. The requester does not receive it. 409 says why
        it was not filled in, or not completely.
        """
        self._queue.check_shown(request.id, call.caller)
        _check_person(call)
        field = self._queue.secret_field(request.id, request.field)
        await self._queue.claim(request.id, call.caller.name)
        await self._drop(field.origin or "", field.selector or "", request.secret.get_secret_value())
        return await self._queue.dropped(request.id, request.field)

    @operation("POST /v1/handoffs/{id}/reply", scope="view")
    async def reply_handoff(self, request: AnswerHandoff, call: Call) -> Handoff:
        """Pass on the answer that the user of the requesting client gave there. Only the MCP process calls this.

        The answer is as trustworthy as that client: `answered_in` says where it was given.
        """
        self._queue.check_shown(request.id, call.caller)
        if call.surface != "mcp" or call.caller.name != self._queue.get(request.id).asked_by:
            raise PermissionDenied("only the MCP client that made the request can pass on its user's answer")
        return await self._queue.answer(request, call.caller.name, "client")

    @operation("DELETE /v1/handoffs/{id}", scope="view")
    async def cancel_handoff(self, request: HandoffRef, call: Call) -> Handoff:
        """Cancel a handoff. The requester may, and admins who are people or have the owner's key."""
        self._queue.check_shown(request.id, call.caller)
        if call.caller.name != self._queue.get(request.id).asked_by and not (call.caller.decides and call.caller.may("admin")):
            raise PermissionDenied("only the requester can cancel this, or a person or the owner's key with the scope 'admin'")
        return await self._queue.close(request.id, call.caller.name, "cancelled")

    async def _wait_closed(self, handoff: str, seconds: float) -> Handoff:
        """Wait until one has ended, at most `seconds`. Return it with the receipt of the person who answered."""
        return await self._queue.with_receipt(await self._queue.closed(handoff, seconds))

    async def _follow(self, caller: Caller) -> AsyncIterator[Event]:
        told: list[Handoff] | None = None
        async for found in self._queue.news():
            shown = _all_visible_to(caller, found)
            if shown != told:  # that somebody else's private ones have changed is not told either
                told = shown
                yield Event("handoffs", shown)


def _all_visible_to(caller: Caller, handoffs: list[Handoff]) -> list[Handoff]:
    return [_visible_to(caller, each) for each in handoffs if shown_to(each.private, caller)]


def _visible_to(caller: Caller, handoff: Handoff) -> Handoff:
    """Return a handoff with what the caller may see of it."""
    if caller.name == handoff.asked_by or caller.may("admin") or (caller.person and caller.may("control")):
        return handoff
    return handoff.model_copy(update=WITHHELD)


def _with_hint(handoff: Handoff) -> Reply[Handoff]:
    return Reply(handoff, hint=None if handoff.status == "closed" else STILL_OPEN)


def _check_person(call: Call) -> None:
    if not call.caller.person:
        raise PermissionDenied("only a person with a signed-in browser can answer this")
