"""Invitations: links that let another person in, to watch or to control."""

import secrets
import time
from collections.abc import Callable
from typing import Annotated, Literal

from pydantic import AfterValidator, Field

from sandbox_server.core import Call, Model, NotFound, PermissionDenied, operation
from sandbox_server.core.identity import EXPIRES, HANDOFF
from sandbox_server.core.tasks import in_access_thread
from sandbox_server.drivers.credentials.grants import Grant
from sandbox_server.drivers.credentials.invitation import Invitation
from sandbox_server.drivers.credentials.names import GUEST, MAX_GUEST_CHARS, bearer_of, guest_of
from sandbox_server.drivers.credentials.tickets import OpenInvitation, Tickets

MAX_SECONDS = 86400.0
MAX_USES = 100
type Access = Literal["watch", "control"]
SCOPES: dict[Access, frozenset[str]] = {"watch": frozenset({"view"}), "control": frozenset({"view", "control"})}


def _as_name(value: str) -> str:
    guest_of(value)
    return value


type GuestName = Annotated[str, Field(min_length=1, max_length=MAX_GUEST_CHARS), AfterValidator(_as_name)]


class CreateInvitation(Model):
    access: Access = "watch"
    """What the guest may do: see the screen, or take control, too."""
    name: GuestName | None = None
    """The guest's name. Absent: guests say it when they come."""
    expires_in: Annotated[float, Field(gt=0, le=MAX_SECONDS)] = 3600.0
    """Seconds within which the link lets somebody in."""
    uses: Annotated[int, Field(ge=1, le=MAX_USES)] = 1
    """How many may come by it."""


class InvitationState(Model):
    id: str
    access: Access
    name: str | None
    """The guest's name; null if guests say it when they come."""
    made_by: str
    created_at: float
    """Seconds since the epoch."""
    expires_at: float
    """Seconds since the epoch."""
    uses: int
    """How many may come by it, in all."""
    left: int
    """How many may still come."""


class NewInvitation(InvitationState):
    ticket: str
    """Opens `/join#ticket=`, where the guest says a name, once for each use. It is never told again."""


class NamedInvitation(Model):
    id: Annotated[str, Field(max_length=40)]


class Invitations:
    """Makes, lists and revokes invitations."""

    tag = "auth"

    def __init__(self, tickets: Tickets, now: Callable[[], float] = time.time) -> None:
        self._tickets = tickets
        self._now = now

    @operation("POST /v1/invitations", scope="control", decides=True)
    async def create_invitation(self, request: CreateInvitation, call: Call) -> NewInvitation:
        """Invite a person by a link, to watch or to control.

        A guest has a name of their own, such as `guest:Mia#4bca12`, and may do at most what you may, for as long as you may.
        """
        if call.caller.profiles is not None:
            raise PermissionDenied("a token that names browser profiles invites nobody: guests see the screen")
        if call.caller.lanes is not None:
            raise PermissionDenied("a token that names lanes invites nobody: guests see the screen")
        scopes, now = SCOPES[request.access], self._now()
        if not scopes <= call.caller.scopes:
            raise PermissionDenied(f"you do not have the scope {min(scopes - call.caller.scopes)!r} yourself")
        expires, handoff = call.headers.get(EXPIRES), call.headers.get(HANDOFF) or None
        ends = float(expires) if expires else None
        ttl = request.expires_in if ends is None else min(request.expires_in, max(1.0, ends - now))
        made = Invitation(f"i-{secrets.token_hex(6)}", call.caller.name, request.name, request.uses, now)
        guest = bearer_of(GUEST if request.name is None else guest_of(request.name))
        grant = Grant(guest, scopes, expires=ends, person=True, handoff=handoff)
        ticket = await in_access_thread(
            self._tickets.create, grant, ttl, request.uses, maker=call.caller.name, person=call.caller.person, invitation=made
        )
        state = _state(OpenInvitation(made, scopes, request.uses, now + ttl))
        return NewInvitation(**dict(state), ticket=ticket)

    @operation("GET /v1/invitations", scope="control")
    async def list_invitations(self, call: Call) -> list[InvitationState]:
        """List the open invitations, oldest first: your own, or as an admin all."""
        return [_state(each) for each in await self._open(call)]

    @operation("DELETE /v1/invitations/{id}", scope="control", decides=True)
    async def revoke_invitation(self, request: NamedInvitation, call: Call) -> None:
        """Revoke an invitation, as who made it or as an admin: its link lets nobody in any more.

        Who came by it before stays; `DELETE /v1/sessions/{name}` signs a person out.
        """
        known = {each.invitation.id for each in await self._open(call)}
        if request.id not in known or not await in_access_thread(self._tickets.withdraw, request.id):
            raise NotFound(f"there is no open invitation {request.id!r}", id=request.id)

    async def _open(self, call: Call) -> list[OpenInvitation]:
        found = await in_access_thread(self._tickets.invitations)
        return [each for each in found if call.caller.may("admin") or each.invitation.maker == call.caller.name]


def _state(found: OpenInvitation) -> InvitationState:
    made = found.invitation
    return InvitationState(
        id=made.id,
        access="control" if "control" in found.scopes else "watch",
        name=made.name,
        made_by=made.maker,
        created_at=made.created_at,
        expires_at=found.expires_at,
        uses=made.uses,
        left=found.left,
    )
