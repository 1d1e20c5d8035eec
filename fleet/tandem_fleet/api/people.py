"""People sign their browsers in, and out."""

from typing import Annotated

from fastapi import APIRouter, Depends, Request, Response
from pydantic import BaseModel, ConfigDict, Field

from tandem_fleet.api import browser_sessions
from tandem_fleet.api.authorization import Caller, Scope, needs
from tandem_fleet.errors import ForbiddenError
from tandem_fleet.fleet import Fleet
from tandem_fleet.store.people import TICKET

Person = Annotated[Caller, Depends(needs(Scope.PEOPLE))]
Admin = Annotated[Caller, Depends(needs(Scope.ADMIN))]


class TicketRequest(BaseModel):
    """Whom a ticket is for."""

    model_config = ConfigDict(extra="forbid")

    person: str = Field(min_length=1, max_length=64, pattern=r"^[\w.@+-]+$", description="What the person is called.")


class Ticket(BaseModel):
    """A ticket, and the link that uses it up."""

    ticket: str
    link: str = Field(description="Opens the wall, signed in; empty where the service answers on no port.")
    seconds: int = Field(description="Until it ends.")


class SignedIn(BaseModel):
    """Who is signed in."""

    person: str
    tenant: str
    scopes: list[Scope]


class Ended(BaseModel):
    """How many sessions ended."""

    sessions: int
    leave: str = Field(default="", description="Path that signs a browser out of its identity provider, too; missing of other sessions.")


def router(fleet: Fleet) -> APIRouter:
    """The routes."""
    routes = APIRouter()

    @routes.post("/v1/tickets", status_code=201)
    async def make_ticket(caller: Person, request: TicketRequest, http: Request) -> Ticket:
        """A ticket that signs one browser in, once, within half a minute: to see, to get into sandboxes, to answer."""
        if caller.session:
            raise ForbiddenError("a signed-in browser makes no tickets: its session would not end")
        ticket = await fleet.people.make_ticket(caller.tenant, request.person, caller.scopes & browser_sessions.SCOPES)
        address: str = http.app.state.address
        return Ticket(ticket=ticket, link=f"{address}/?ticket={ticket}" if address else "", seconds=int(TICKET.total_seconds()))

    @routes.get("/v1/session")
    async def get_session(caller: Person) -> SignedIn:
        """Who calls."""
        return SignedIn(person=caller.name, tenant=caller.tenant, scopes=sorted(caller.scopes))

    @routes.delete("/v1/session", response_model_exclude_defaults=True)
    async def sign_out(caller: Person, http: Request, response: Response) -> Ended:
        """Sign this browser out; what it has claimed is let go."""
        browser_sessions.keep(http, response, "")
        ended = await fleet.people.end_sessions(caller.tenant, caller.session) if caller.session else 0
        return Ended(sessions=ended, leave="/oidc/logout" if caller.account else "")

    @routes.delete("/v1/sessions", response_model_exclude_defaults=True)
    async def sign_all_out(caller: Admin) -> Ended:
        """Sign every browser of the tenant out."""
        return Ended(sessions=await fleet.people.end_sessions(caller.tenant))

    return routes
