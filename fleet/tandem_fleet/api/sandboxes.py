"""Operations on sandboxes."""

from typing import Annotated

from fastapi import APIRouter, Depends, Header, Query

from tandem_fleet.api.authorization import Caller, Scope, needs
from tandem_fleet.api.messages import LARGEST, CreateRequest, SandboxPage, Token, TokenRequest, put_in
from tandem_fleet.errors import NotFoundError
from tandem_fleet.fleet import Fleet
from tandem_fleet.sandboxes import Desired, Sandbox, State

ORDERS = {"start": Desired.RUNNING, "resume": Desired.RUNNING, "wake": Desired.RUNNING, "pause": Desired.PAUSED, "stop": Desired.STOPPED}
LONGEST_WAIT = 600
Seconds = Annotated[
    float, Query(ge=0, le=LONGEST_WAIT, description="How long to wait until it is so; the answer then has the state that it has.")
]
Number = Annotated[int, Query(ge=0, le=LARGEST)]
Reader = Annotated[Caller, Depends(needs(Scope.READ))]
Writer = Annotated[Caller, Depends(needs(Scope.WRITE))]
User = Annotated[Caller, Depends(needs(Scope.USE))]


def router(fleet: Fleet) -> APIRouter:
    """The routes."""
    routes = APIRouter()
    _add_reading(routes, fleet)
    _add_orders(routes, fleet)
    return routes


async def settled(fleet: Fleet, sandbox: Sandbox, seconds: float) -> Sandbox:
    """A sandbox, once it is what it shall be or `seconds` have passed."""
    if not seconds:
        return sandbox
    try:
        return await fleet.settle(sandbox.id, seconds)
    except TimeoutError:
        return await fleet.get(sandbox.id)


def _add_reading(routes: APIRouter, fleet: Fleet) -> None:
    @routes.get("/v1/sandboxes")
    async def list_sandboxes(
        caller: Reader, cursor: Number = 0, limit: Annotated[int, Query(ge=1, le=1000)] = 100, state: State | None = None
    ) -> SandboxPage:
        """Sandboxes, the oldest first. Go on with `next_cursor` until it is null."""
        page = await fleet.page(caller.tenant, cursor, limit, state)
        return SandboxPage(sandboxes=[sandbox for _, sandbox in page], next_cursor=page[-1][0] if len(page) == limit else None)

    @routes.get("/v1/sandboxes/{name}")
    async def get_sandbox(caller: Reader, name: str) -> Sandbox:
        """One sandbox, by its name or id."""
        return await fleet.find(caller.tenant, name)

    @routes.put("/v1/sandboxes/{name}/token")
    async def make_token(caller: User, name: str, request: TokenRequest) -> Token:
        """A token that opens this sandbox's API and pages, and those of no other."""
        sandbox, token = await fleet.token(caller.tenant, name, request.subject, request.scopes, request.seconds)
        url = fleet.addresses.url(sandbox.id) if fleet.addresses else ""
        return Token(token=token, address=sandbox.address, url=url, state=sandbox.state, seconds=request.seconds)


def _add_orders(routes: APIRouter, fleet: Fleet) -> None:
    @routes.post("/v1/sandboxes", status_code=201)
    async def create_sandbox(
        caller: Writer, request: CreateRequest, wait: Seconds = 0, idempotency_key: Annotated[str, Header(max_length=255)] = ""
    ) -> Sandbox:
        """Make a sandbox and start it. The same request with the same `Idempotency-Key` gives the same sandbox."""
        made = await fleet.create(
            caller.tenant,
            request.spec(fleet.image),
            name=request.name or "",
            key=idempotency_key,
            egress=request.egress,
            secrets=put_in(request.secrets),
        )
        return await settled(fleet, made, wait)

    @routes.delete("/v1/sandboxes/{name}")
    async def delete_sandbox(caller: Writer, name: str, wait: Seconds = 0) -> Sandbox:
        """End a sandbox and remove its files."""
        return await settled(fleet, await fleet.order(caller.tenant, name, Desired.DELETED), wait)

    @routes.post("/v1/sandboxes/{name}/{order}")
    async def order_sandbox(caller: Writer, name: str, order: str, wait: Seconds = 0) -> Sandbox:
        """`start`, `resume`, `wake`, `pause` or `stop` a sandbox. `pause` keeps its memory, `stop` its files; `wake` undoes both."""
        if order not in ORDERS:
            raise NotFoundError(f"a sandbox can be told to {', '.join(ORDERS)}; not to {order}")
        return await settled(fleet, await fleet.order(caller.tenant, name, ORDERS[order]), wait)
