"""E2B's REST API, with its paths, its key in `X-API-KEY` and its form of errors."""

from collections.abc import Awaitable, Callable, Sequence
from typing import Annotated
from urllib.parse import parse_qsl, unquote

from fastapi import Depends, FastAPI, Header, Query, Request, Response
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse
from pydantic import AwareDatetime
from starlette.exceptions import HTTPException

from tandem_fleet.api.auditing import Auditing
from tandem_fleet.api.authorization import Authorization, Caller, Scope, authorized
from tandem_fleet.api.messages import MAX_BODY
from tandem_fleet.api.path_check import PathCheck
from tandem_fleet.e2b.connect_protocol import STATUS, RPCError
from tandem_fleet.e2b.control_messages import (
    ConnectRequest,
    ForkRequest,
    NewSandbox,
    PauseRequest,
    RefreshRequest,
    SnapshotInfo,
    SnapshotRequest,
    TimeoutRequest,
)
from tandem_fleet.e2b.lifetimes import Lifetimes
from tandem_fleet.e2b.messages import Message
from tandem_fleet.e2b.named_snapshots import described
from tandem_fleet.e2b.network_rules import NetworkRules
from tandem_fleet.e2b.origin import origin_of
from tandem_fleet.errors import FleetError
from tandem_fleet.sandboxes import Sandbox
from tandem_fleet.store.audit import AuditStore

PREFIXES = ("/sandboxes", "/v2/sandboxes", "/snapshots", "/templates", "/v2/templates", "/v3/templates", "/volumes", "/secrets", "/teams")
"""How the paths of this API begin. None of the fleet's own does."""
MAX_PAGE = 100
_OTHERWISE = {"engine": 500, "sandbox_failed": 500, "invalid": 400}
"""Statuses of errors that E2B's clients know by another one."""
NOT_BUILT = "Tandem's fleet does not have this part of E2B's API"


def is_ours(path: str) -> bool:
    """Whether a path is of this API."""
    return any(path == prefix or path.startswith(f"{prefix}/") for prefix in PREFIXES)


def needs(*scopes: Scope) -> Callable[[Request, str], Awaitable[Caller]]:
    """A dependency of a route: its caller by `X-API-KEY`, who has the scopes. Raises `UnauthorizedError`, and what `authorized` raises."""

    async def authorize(request: Request, x_api_key: Annotated[str, Header()] = "") -> Caller:
        known: Authorization = request.app.state.authorization
        return authorized(request, await known.caller(x_api_key), *scopes)

    return authorize


def build(lifetimes: Lifetimes, beside: FastAPI, record: AuditStore) -> FastAPI:
    """The application. Its callers are those of the one that it is `beside`, with the same limits and the same record."""
    app = FastAPI(openapi_url=None, docs_url=None, redoc_url=None, max_body_size=MAX_BODY)
    app.state.authorization, app.state.limits = beside.state.authorization, beside.state.limits
    app.add_middleware(Auditing, store=record)
    app.add_middleware(PathCheck)
    _add_reading(app, lifetimes)
    _add_making(app, lifetimes)
    _add_changing(app, lifetimes)
    _add_copying(app, lifetimes)
    known = Depends(needs())

    @app.api_route("/{path:path}", methods=["GET", "POST", "PUT", "PATCH", "DELETE"], dependencies=[known])
    async def others(path: str) -> JSONResponse:
        return refusal(501, f"{NOT_BUILT}: /{path[:200]}")

    @app.exception_handler(FleetError)
    async def refuse(_: Request, error: FleetError) -> JSONResponse:
        return refusal(_OTHERWISE.get(error.code, error.status), str(error), error.retry_after)

    @app.exception_handler(RPCError)
    async def refuse_sandbox(_: Request, error: RPCError) -> JSONResponse:
        return refusal(STATUS.get(error.code, 500), str(error))

    @app.exception_handler(TimeoutError)
    async def refuse_wait(_: Request, error: TimeoutError) -> JSONResponse:
        return refusal(503, str(error) or "it took too long")

    @app.exception_handler(RequestValidationError)
    async def refuse_values(_: Request, error: RequestValidationError) -> JSONResponse:
        return refusal(400, "; ".join(f"{'.'.join(map(str, one['loc'][1:])) or 'body'}: {one['msg']}" for one in error.errors()))

    @app.exception_handler(HTTPException)
    async def refuse_route(_: Request, error: HTTPException) -> JSONResponse:
        return refusal(error.status_code, str(error.detail))

    return app


def refusal(status: int, message: str, retry_after: int | None = None) -> JSONResponse:
    """An error in E2B's form, with the seconds after which the same call may be made again."""
    headers = {"Retry-After": str(retry_after)} if retry_after is not None else None
    return JSONResponse({"code": status, "message": message}, status, headers)


def _sent(message: Message, status: int = 200) -> Response:
    return Response(message.to_json(), status, media_type="application/json")


def _sent_all(messages: Sequence[Message], headers: dict[str, str] | None = None, status: int = 200) -> Response:
    return Response(b"[" + b",".join(message.to_json() for message in messages) + b"]", status, headers, "application/json")


def _add_reading(app: FastAPI, lifetimes: Lifetimes) -> None:
    reader = Depends(needs(Scope.READ))

    @app.get("/v2/sandboxes")
    @app.get("/sandboxes")
    async def list_sandboxes(
        caller: Annotated[Caller, reader],
        metadata: Annotated[str, Query(max_length=16_384)] = "",
        state: Annotated[list[str] | None, Query(max_length=8)] = None,
        template: Annotated[str, Query(max_length=512)] = "",
        order: Annotated[str, Query(pattern="^(asc|desc)$")] = "desc",
        started_after: Annotated[AwareDatetime | None, Query(alias="startedAfter")] = None,
        limit: Annotated[int, Query(ge=1, le=MAX_PAGE)] = MAX_PAGE,
        next_token: Annotated[int, Query(alias="nextToken", ge=0)] = 0,
    ) -> Response:
        wanted = _metadata(metadata)
        states = {word for words in state or () for word in words.split(",")}
        found = []
        async for number, sandbox in lifetimes.all(caller.tenant):
            origin = origin_of(sandbox)
            if not wanted.items() <= origin.metadata.items() or (template and origin.template != template):
                continue
            if started_after and sandbox.created_at < started_after:
                continue
            if states and (await lifetimes.listed(sandbox)).state not in states:
                continue
            found.append((number, sandbox))
        page, more = _page(found, limit, next_token, newest_first=order == "desc")
        headers = {"X-Next-Token": str(more)} if more else {}
        return _sent_all([await lifetimes.listed(sandbox) for sandbox in page], headers)

    @app.get("/sandboxes/{sandbox}")
    async def get_sandbox(sandbox: str, caller: Annotated[Caller, reader]) -> Response:
        found = await lifetimes.find(caller.tenant, sandbox)
        return _sent(await lifetimes.detail(found, opens=Scope.USE in caller.scopes))

    @app.get("/sandboxes/{sandbox}/metrics")
    async def get_metrics(sandbox: str, caller: Annotated[Caller, reader]) -> Response:
        return _sent_all(await lifetimes.metrics(await lifetimes.find(caller.tenant, sandbox)))


def _metadata(query: str) -> dict[str, str]:
    """Metadata that is wanted: a query in a query, whose words are quoted twice."""
    return {unquote(name): unquote(value) for name, value in parse_qsl(query, keep_blank_values=True)}


def _page(found: list[tuple[int, Sandbox]], limit: int, token: int, *, newest_first: bool) -> tuple[list[Sandbox], int]:
    """A part of a list, and the token of the next; 0 where there is none."""
    if newest_first:
        found.reverse()
    if token:
        found = [one for one in found if (one[0] < token if newest_first else one[0] > token)]
    page = found[:limit]
    return [sandbox for _, sandbox in page], page[-1][0] if len(found) > limit else 0


def _add_making(app: FastAPI, lifetimes: Lifetimes) -> None:
    @app.post("/v2/sandboxes")
    @app.post("/sandboxes")
    async def create_sandbox(
        request: NewSandbox,
        caller: Annotated[Caller, Depends(needs(Scope.WRITE, Scope.USE))],
        idempotency_key: Annotated[str, Header(max_length=255)] = "",
    ) -> Response:
        if request.not_kept:
            return refusal(501, f"{NOT_BUILT}: {request.not_kept}")
        return _sent(await lifetimes.create(caller.tenant, request, idempotency_key), 201)

    opener = Depends(needs(Scope.WRITE, Scope.USE))

    @app.post("/v2/sandboxes/{sandbox}/connect")
    @app.post("/sandboxes/{sandbox}/connect")
    async def connect(sandbox: str, request: ConnectRequest, caller: Annotated[Caller, opener]) -> Response:
        opened, slept = await lifetimes.connect(caller.tenant, sandbox, request.timeout)
        return _sent(opened, 201 if slept else 200)

    @app.post("/sandboxes/{sandbox}/resume")
    async def resume(sandbox: str, request: ConnectRequest, caller: Annotated[Caller, opener]) -> Response:
        opened, slept = await lifetimes.connect(caller.tenant, sandbox, request.timeout)
        return _sent(opened, 201) if slept else refusal(409, f"sandbox {sandbox} is running")


def _add_changing(app: FastAPI, lifetimes: Lifetimes) -> None:
    writer = Depends(needs(Scope.WRITE))

    @app.delete("/sandboxes/{sandbox}", status_code=204)
    async def kill(sandbox: str, caller: Annotated[Caller, writer]) -> Response:
        await lifetimes.kill(caller.tenant, sandbox)
        return Response(status_code=204)

    @app.post("/sandboxes/{sandbox}/pause", status_code=204)
    async def pause(sandbox: str, caller: Annotated[Caller, writer], request: PauseRequest | None = None) -> Response:
        await lifetimes.pause(caller.tenant, sandbox, memory=request.memory if request else True)
        return Response(status_code=204)

    @app.post("/sandboxes/{sandbox}/timeout", status_code=204)
    async def live_for(sandbox: str, request: TimeoutRequest, caller: Annotated[Caller, writer]) -> Response:
        await lifetimes.live_for(caller.tenant, sandbox, request.timeout)
        return Response(status_code=204)

    @app.post("/sandboxes/{sandbox}/refreshes", status_code=204)
    async def refresh(sandbox: str, request: RefreshRequest, caller: Annotated[Caller, writer]) -> Response:
        await lifetimes.live_for(caller.tenant, sandbox, request.duration, extend=True)
        return Response(status_code=204)

    @app.put("/sandboxes/{sandbox}/network", status_code=204)
    async def change_network(sandbox: str, request: NetworkRules, caller: Annotated[Caller, writer]) -> Response:
        if request.not_kept:
            return refusal(501, f"{NOT_BUILT}: {request.not_kept}")
        await lifetimes.change_network(caller.tenant, sandbox, request.policy())
        return Response(status_code=204)


def _add_copying(app: FastAPI, lifetimes: Lifetimes) -> None:
    writer, opener = Depends(needs(Scope.WRITE)), Depends(needs(Scope.WRITE, Scope.USE))

    @app.post("/sandboxes/{sandbox}/fork", status_code=201)
    async def fork(sandbox: str, request: ForkRequest, caller: Annotated[Caller, opener]) -> Response:
        return _sent_all(await lifetimes.fork(caller.tenant, sandbox, request.count, request.timeout), status=201)

    @app.post("/sandboxes/{sandbox}/snapshots", status_code=201)
    async def keep(sandbox: str, request: SnapshotRequest, caller: Annotated[Caller, writer]) -> Response:
        found = await lifetimes.find(caller.tenant, sandbox)
        return _sent(await lifetimes.snapshots.make(found, request.name), 201)

    @app.get("/snapshots")
    async def list_snapshots(
        caller: Annotated[Caller, Depends(needs(Scope.READ))],
        sandbox: Annotated[str, Query(alias="sandboxID", max_length=64)] = "",
        name: Annotated[str, Query(max_length=128)] = "",
        limit: Annotated[int, Query(ge=1, le=MAX_PAGE)] = MAX_PAGE,
        next_token: Annotated[int, Query(alias="nextToken", ge=0)] = 0,
    ) -> Response:
        found: list[tuple[int, SnapshotInfo]] = []
        async for number, one in lifetimes.snapshots.all(caller.tenant, next_token):
            if sandbox in ("", one.sandbox) and name in ("", one.label):
                found.append((number, described(one)))
            if len(found) > limit:
                break
        headers = {"X-Next-Token": str(found[limit - 1][0])} if len(found) > limit else {}
        return _sent_all([info for _, info in found[:limit]], headers)

    @app.delete("/templates/{snapshot:path}", status_code=204)
    async def remove(snapshot: str, caller: Annotated[Caller, writer]) -> Response:
        await lifetimes.snapshots.remove(caller.tenant, snapshot)
        return Response(status_code=204)
