"""What clients say to a sandbox itself: which one and which port a request is for, who may, and who answers."""

import re
from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from starlette.requests import ClientDisconnect, Request
from starlette.responses import JSONResponse, Response

from tandem_fleet.e2b import code_interpreter, filesystem_service, process_service
from tandem_fleet.e2b.access import Operation, SandboxTokens, Signature, same
from tandem_fleet.e2b.code_interpreter import CodeInterpreter
from tandem_fleet.e2b.connect_protocol import STATUS, Method, RPCError, serve
from tandem_fleet.e2b.context import Context
from tandem_fleet.e2b.file_transfer import MAX_PATH, Transfer
from tandem_fleet.e2b.lifetimes import WAKE_SECONDS, Lifetimes
from tandem_fleet.e2b.origin import origin_of
from tandem_fleet.e2b.sandbox_calls import SandboxCalls, SandboxClients
from tandem_fleet.e2b.watch_service import Watches
from tandem_fleet.errors import FleetError, NotFoundError
from tandem_fleet.fleet import Fleet
from tandem_fleet.sandboxes import Desired, Sandbox, State
from tandem_fleet.store.e2b import DeadlineStore

ENVD_PORT = 49983
MAX_ID, MAX_USER = 64, 64
_SIGNATURE = re.compile(r"v1_[A-Za-z0-9+/]{43}")
GONE, NOT_OPEN = "The sandbox was not found", "The sandbox is running but port is not open"
"""Clients look for `was not found` and `port is not open`."""
_HOST = re.compile(r"([0-9]{1,5})-([a-z0-9]{1,64})\.")


@dataclass(frozen=True)
class Target:
    """The sandbox and the port that a request is for. A link to a file on one address for all sandboxes names no sandbox."""

    sandbox: str
    port: int


def target_of(request: Request) -> Target | None:
    """Where a request leads by its headers or its host; None where it is for no sandbox."""
    if sandbox := request.headers.get("e2b-sandbox-id", ""):
        port = request.headers.get("e2b-sandbox-port", str(ENVD_PORT))
        return Target(sandbox[:MAX_ID], int(port) if port.isascii() and port.isdigit() and len(port) < 6 else 0)
    if named := _HOST.match(request.headers.get("host", "")):
        return Target(named[2], int(named[1]))
    if request.url.path == "/files" and "signature" in request.query_params:
        return Target("", ENVD_PORT)
    return None


class GatewayError(Exception):
    """What stands in front of a sandbox answers for it."""


class DataPlane:
    """Answers the requests."""

    def __init__(self, fleet: Fleet, lifetimes: Lifetimes, clients: SandboxClients, tokens: SandboxTokens, store: DeadlineStore) -> None:
        self._fleet = fleet
        self._lifetimes = lifetimes
        self._clients = clients
        self._tokens = tokens
        self._store = store
        self._services: dict[str, dict[str, Method]] = {
            "process.Process": process_service.METHODS,
            "filesystem.Filesystem": filesystem_service.METHODS | Watches().methods,
        }

    async def answer(self, target: Target, request: Request) -> Response:
        """Answer a request for a sandbox."""
        try:
            if target.port == code_interpreter.PORT:
                return await self._answer_code(target, request)
            if target.port != ENVD_PORT:
                return _failure(502, f"port is not open: {target.port}", target)
            return await self._answer_envd(target, request)
        except RPCError as error:
            return _failure(STATUS.get(error.code, 500), str(error), target)
        except GatewayError as error:
            return _failure(502, str(error), target)
        except ClientDisconnect:
            return Response(status_code=499)
        except (FleetError, TimeoutError) as error:
            return _failure(502, f"the sandbox could not be woken: {error}", target)

    async def _answer_envd(self, target: Target, request: Request) -> Response:
        path = request.url.path
        if path == "/health" and request.method == "GET":
            await self._ready(target)
            return Response(status_code=204)
        if path == "/files":
            return await self._answer_files(target, request)
        if not same(request.headers.get("x-access-token", ""), self._tokens.access(target.sandbox)):
            return _failure(401, "unauthorized access, please provide a valid access token or method signing if supported", target)
        service, _, name = path[1:].partition("/")
        methods = self._services.get(service, {})
        if name not in methods:
            return await self._answer_others(target, request)
        if request.method != "POST":
            return Response(status_code=405, headers={"Allow": "POST"})
        sandbox = await self._ready(target)
        context = Context(self._clients.calls(sandbox), origin_of(sandbox).environment, request)
        return await serve(methods[name], context, request)

    async def _answer_code(self, target: Target, request: Request) -> Response:
        """The code interpreter, some of whose clients send the traffic token alone."""
        sent = {"x-access-token": self._tokens.access, "e2b-traffic-access-token": self._tokens.traffic}
        if not any(same(request.headers.get(name, ""), token(target.sandbox)) for name, token in sent.items()):
            return _failure(401, "unauthorized access, please provide a valid access token", target)
        sandbox = await self._ready(target)
        return await CodeInterpreter(self._clients.calls(sandbox), origin_of(sandbox).environment).answer(request)

    async def _answer_others(self, target: Target, request: Request) -> Response:
        others: dict[str, Callable[[Sandbox, SandboxCalls], Awaitable[Response]]] = {"/envs": self._envs, "/metrics": self._metrics}
        if request.method != "GET" or request.url.path not in others:
            return _failure(404, f"there is no {request.url.path[:200]}", target)
        sandbox = await self._ready(target)
        return await others[request.url.path](sandbox, self._clients.calls(sandbox))

    async def _envs(self, sandbox: Sandbox, _: SandboxCalls) -> Response:
        return JSONResponse(origin_of(sandbox).environment)

    async def _metrics(self, sandbox: Sandbox, _: SandboxCalls) -> Response:
        [now] = await self._lifetimes.metrics(sandbox)
        said = {"ts": now.timestamp_unix, "cpu_count": now.cpu_count, "cpu_used_pct": now.cpu_used_pct, "mem_total": now.mem_total}
        return JSONResponse(said | {"mem_used": now.mem_used, "disk_used": now.disk_used, "disk_total": now.disk_total})

    async def _answer_files(self, target: Target, request: Request) -> Response:
        operations: dict[str, Operation] = {"GET": "read", "POST": "write"}
        if request.method not in operations:
            return Response(status_code=405, headers={"Allow": "GET, POST"})
        user = request.query_params.get("username", "")
        named = await self._permitted(target, request, operations[request.method], user)
        if named is None:
            return _failure(401, "invalid signature or access token", target)
        transfer = Transfer(self._clients.calls(await self._ready(named)), user)
        return await (transfer.upload(request) if request.method == "POST" else transfer.download(request))

    async def _permitted(self, target: Target, request: Request, operation: Operation, user: str) -> Target | None:
        """The sandbox whose files a request may use, by the access token or by a signature that was made with it."""
        if token := request.headers.get("x-access-token", ""):
            return target if target.sandbox and same(token, self._tokens.access(target.sandbox)) else None
        words = request.query_params
        signed = Signature(words.get("path", ""), operation, user, words.get("signature", ""), words.get("signature_expiration", ""))
        if len(signed.path) > MAX_PATH or len(user) > MAX_USER or not _SIGNATURE.fullmatch(signed.signature) or not signed.is_current:
            return None
        candidates = [target.sandbox] if target.sandbox else await self._store.live()
        found = next((sandbox for sandbox in candidates if signed.is_of(self._tokens.access(sandbox))), None)
        return Target(found, target.port) if found else None

    async def _ready(self, target: Target) -> Sandbox:
        """The sandbox, woken if it sleeps and calls wake it. Raises `GatewayError`."""
        try:
            sandbox = await self._fleet.get(target.sandbox)
        except NotFoundError:
            raise GatewayError(GONE) from None
        if origin_of(sandbox).resumes and sandbox.desired in (Desired.PAUSED, Desired.STOPPED):
            sandbox = await self._lifetimes.wake(sandbox)
        elif origin_of(sandbox).resumes and sandbox.desired == Desired.RUNNING and sandbox.state != State.READY:
            sandbox = await self._fleet.settle(sandbox.id, WAKE_SECONDS)  # another call wakes it
        if sandbox.desired != Desired.RUNNING:
            raise GatewayError(GONE)
        if sandbox.state != State.READY or not sandbox.address:
            raise GatewayError(NOT_OPEN)
        return sandbox


def _failure(status: int, message: str, target: Target) -> Response:
    return JSONResponse({"code": status, "message": message, "sandboxId": target.sandbox}, status)
