"""Operations as Starlette routes."""

import asyncio
import secrets
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine, Iterable, Mapping
from contextlib import AbstractAsyncContextManager
from dataclasses import replace
from functools import partial
from typing import Any, cast

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.requests import HTTPConnection, Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Route, WebSocketRoute
from starlette.websockets import WebSocket, WebSocketState

from sandbox_server.core import unknown_fields
from sandbox_server.core.dispatch import Dispatcher, InvalidFields
from sandbox_server.core.errors import Failure, ResourceExhausted, Unauthenticated
from sandbox_server.core.http.client_disconnect import until_disconnected, while_connected
from sandbox_server.core.http.concurrency_limits import Lasting, Limits
from sandbox_server.core.http.multipart import MultipartUpload
from sandbox_server.core.http.range_requests import content_response
from sandbox_server.core.http.request_decoding import body_of, fields_of, query_of
from sandbox_server.core.http.request_drain import Drain
from sandbox_server.core.http.response_encoding import error_response, json_response, result_response
from sandbox_server.core.http.sse import event_stream
from sandbox_server.core.http.websockets import AcceptedSocket
from sandbox_server.core.identity import ENDS_WITH_CALLER, SERVER, SURFACE, Caller
from sandbox_server.core.operation import Operation, Spec
from sandbox_server.core.quota import Reservation, run_unless_evicted
from sandbox_server.core.results import Call, Content, Event, Slashes

HINT = "X-Sandbox-Hint"
"""Header of an answer to a request with fields that its operation does not have: the hint that names them, in ASCII."""
PLACE_TAKEN = 4429
"""Close code of a WebSocket whose caller has no slot, or was evicted."""

type Endpoint = Callable[[Request], Awaitable[Response]]
type Stamp = Callable[[], Mapping[str, str]]
"""Returns the headers that every answer gets."""
type Lifespan = Callable[[Starlette], AbstractAsyncContextManager[None]]

_NOBODY = Caller("nobody", frozenset())


def create_app(
    operations: Iterable[Operation],
    dispatcher: Dispatcher,
    lifespan: Lifespan | None = None,
    stamp: Stamp = dict[str, str],
    limits: Limits | None = None,
) -> Starlette:
    """Return an ASGI application that answers every operation.

    The caller comes from headers that the gateway sets. The gateway's socket is the only way in, and a request without
    them is refused.
    """
    routes, middleware = create_routes(operations, dispatcher, stamp, limits), [Middleware(Drain)]
    handlers = {HTTPException: _framework_error}
    return Starlette(routes=routes, middleware=middleware, exception_handlers=handlers, lifespan=lifespan)  # type: ignore[arg-type]


def create_routes(
    operations: Iterable[Operation], dispatcher: Dispatcher, stamp: Stamp = dict[str, str], limits: Limits | None = None
) -> list[BaseRoute]:
    """Return the routes of such an application, in matching order.

    `limits` are shared with other applications, or its own.
    """
    limits = limits or Limits()
    return [_route(operation, dispatcher, stamp, limits) for operation in sorted(operations, key=_specificity)]


def _specificity(operation: Operation) -> tuple[int, str]:
    """Sort literal paths before those with parameters, so that `/watch/wait` is not taken for a watcher's id."""
    return operation.spec.path.count("{"), operation.spec.path


def _route(operation: Operation, dispatcher: Dispatcher, stamp: Stamp, limits: Limits) -> BaseRoute:
    if operation.spec.socket:
        return WebSocketRoute(operation.spec.path, _socket_endpoint(operation, dispatcher, limits))
    spec = operation.spec
    announced = spec.deprecated.headers if spec.deprecated else {}
    endpoint = _stamped(_endpoint(operation, dispatcher, limits), lambda: {**stamp(), **announced})
    return Route(_pattern(spec), endpoint, methods=[spec.verb])


def _pattern(spec: Spec) -> str:
    """Return the path in Starlette's syntax."""
    path = spec.path
    for name, field in spec.request.model_fields.items() if spec.request else ():
        if any(isinstance(mark, Slashes) for mark in field.metadata):
            path = path.replace(f"{{{name}}}", f"{{{name}:path}}")
    return path


def _stamped(endpoint: Endpoint, stamp: Stamp) -> Endpoint:
    async def stamped(request: Request) -> Response:
        response = await endpoint(request)
        response.headers.update(stamp())
        if hint := _hint_of(request):
            response.headers[HINT] = hint.encode("ascii", "backslashreplace").decode()
        return response

    return stamped


def _endpoint(operation: Operation, dispatcher: Dispatcher, limits: Limits) -> Endpoint:
    spec = operation.spec

    async def endpoint(request: Request) -> Response:
        try:
            call = call_of(request, public=spec.scope == "public")
            await dispatcher.admit(operation, call)
            if spec.scope == "public":
                return await answer(request, call, None)
            name, person = call.caller.name, call.caller.person
            with limits.calls.take(name, person=person), limits.body_bytes.take(name, person=person, size=0) as body:
                return await answer(request, call, body)
        except Exception as error:  # noqa: BLE001 - the top of a call: a defect is answered and logged under an id
            return error_response(error, spec, _hint_of(request))

    async def answer(request: Request, call: Call, body: Reservation | None) -> Response:
        fields = await fields_of(request, spec, body)
        if spec.reads_json:
            request.state.hint = unknown_fields.hint(spec.request, fields, inner_only=call.surface != "http")
        if not spec.ends_with_client and spec.reads_json:
            call = replace(call, disconnected=partial(until_disconnected, request))
        if spec.streams or (operation.stream and _wants_events(request)):
            return await _events(operation, dispatcher, fields, call, limits)
        calling = dispatcher.call(operation, fields, call, _injected_values(operation, request))
        result = await (while_connected(request, calling) if spec.ends_with_client else calling)
        return _response(result, request, spec, call, limits)

    return endpoint


async def _events(operation: Operation, dispatcher: Dispatcher, fields: Mapping[str, object], call: Call, limits: Limits) -> Response:
    evicted = asyncio.Event()
    place = _place(limits, call, evicted)
    try:
        return _lasting(event_stream(await dispatcher.stream(operation, fields, call), evicted), place)
    except BaseException:
        place.close()
        raise


def _place(limits: Limits, call: Call, evicted: asyncio.Event) -> Reservation:
    return limits.open.take(call.caller.name, person=call.caller.person, leave=evicted.set)


def _lasting(response: Response, place: Reservation) -> Response:
    return cast("Response", Lasting(response, place))


def _response(result: object, request: Request, spec: Spec, call: Call, limits: Limits) -> Response:
    evicted = asyncio.Event()
    if isinstance(result, Content):
        try:
            place = limits.open.take(call.caller.name, person=call.caller.person)
        except ResourceExhausted:
            result.close()
            raise
        return _lasting(content_response(result, request), place)
    if hasattr(result, "__aiter__"):
        place = _place(limits, call, evicted)
        return _lasting(event_stream(cast("AsyncIterator[Event]", result), evicted), place)
    return result_response(result, spec, _hint_of(request))


def _hint_of(request: Request) -> str | None:
    """What the caller should know of its request."""
    found: str | None = getattr(request.state, "hint", None)
    return found


def _socket_endpoint(operation: Operation, dispatcher: Dispatcher, limits: Limits) -> Callable[[WebSocket], object]:
    async def endpoint(websocket: WebSocket) -> None:
        try:
            call = call_of(websocket)
        except Failure:
            await websocket.close(4401, "unauthenticated")
            return
        socket = AcceptedSocket(websocket)
        fields = {**query_of(websocket, operation.spec), **websocket.path_params}
        try:
            await _while_slot_held(limits, call, dispatcher.call(_accepting(operation, websocket), fields, call, {"socket": socket}))
        except (Failure, InvalidFields) as failure:
            await _refuse_or_close(websocket, socket, failure)
        except ConnectionError:
            return
        else:
            await socket.close()

    return endpoint


async def _while_slot_held(limits: Limits, call: Call, work: Coroutine[Any, Any, object]) -> None:
    """Serve a socket while its caller has a slot. Raises ResourceExhausted if none is free, and on eviction."""
    if call.caller.may(SERVER):
        await work
        return
    evicted = asyncio.Event()
    try:
        place = _place(limits, call, evicted)
    except ResourceExhausted:
        work.close()
        raise
    with place:
        await run_unless_evicted(evicted, work)


def _accepting(operation: Operation, websocket: WebSocket) -> Operation:
    """Return the operation with a method that accepts the socket only after every guard has passed."""

    async def run(**arguments: object) -> object:
        await websocket.accept()
        return await cast("Awaitable[object]", operation.run(**arguments))

    return replace(operation, run=run)


async def _refuse_or_close(websocket: WebSocket, socket: AcceptedSocket, failure: Failure | InvalidFields) -> None:
    if websocket.application_state == WebSocketState.CONNECTING:
        await websocket.send_denial_response(error_response(failure))
    else:
        await socket.close(PLACE_TAKEN if isinstance(failure, ResourceExhausted) else 4000, str(failure)[:120])


def call_of(connection: HTTPConnection, *, public: bool = False) -> Call:
    """Return the caller and the call's metadata from the gateway's headers."""
    headers = connection.headers
    caller = Caller.from_headers(headers)
    if not caller and not public:
        raise Unauthenticated("the request did not come through the gateway")
    surface = headers.get(SURFACE)
    return Call(
        caller=caller or _NOBODY,
        request_id=headers.get("x-request-id") or secrets.token_hex(8),
        surface="mcp" if surface == "mcp" else "cli" if surface == "cli" else "http",
        base_url=_base_url(headers),
        headers=headers,
        last_event_id=headers.get("last-event-id"),
        query=connection.query_params,
        ends_with_caller=headers.get(ENDS_WITH_CALLER) == "1",
    )


def _base_url(headers: Mapping[str, str]) -> str:
    host = headers.get("x-forwarded-host") or headers.get("host", "")
    return f"{headers.get('x-forwarded-proto', 'http')}://{host}" if host else ""


def _injected_values(operation: Operation, request: Request) -> dict[str, object]:
    roles = operation.spec.parameters.values()
    injected: dict[str, object] = {}
    if "upload" in roles:
        injected["upload"] = MultipartUpload(request)
    if "body" in roles:
        injected["body"] = RequestBody(request)
    return injected


class RequestBody:
    """A raw body, which can be read once."""

    def __init__(self, request: Request) -> None:
        self._request = request

    async def chunks(self) -> AsyncIterator[bytes]:
        """Yield the body as it arrives; raises `InvalidArgument` if the client stops half way."""
        async for chunk in body_of(self._request):
            yield chunk


def _wants_events(request: Request) -> bool:
    return "text/event-stream" in request.headers.get("accept", "")


async def _framework_error(request: Request, error: HTTPException) -> Response:
    """Answer unknown paths and wrong methods in the same envelope as other errors."""
    return json_response(
        {"success": False, "message": error.detail, "data": None, "hint": None},
        error.status_code,
        error.headers,
    )
