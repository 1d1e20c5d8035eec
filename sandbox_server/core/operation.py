"""How an operation is declared: one decorated method, from which every surface is derived."""

import inspect
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Iterator
from dataclasses import dataclass, field, replace
from typing import Any, Literal, Protocol, get_origin, get_type_hints

from pydantic import BaseModel

from sandbox_server.core.control import Reach
from sandbox_server.core.deprecation import Deprecation
from sandbox_server.core.identity import Scope
from sandbox_server.core.results import Body, Call, Event, EventTypes, Reply, Socket, Upload

_SPEC = "__operation__"
_STREAM_OF = "__stream_of__"
_EVENTS = "__events__"

MAX_BODY = 16 << 20
"""Default limit in bytes of a JSON body."""
MAX_FILE_BODY = 256 << 20
"""Limit in bytes of a JSON body that holds a file. Larger files are uploaded."""

type Access = Scope | Literal["any", "public"]
"""Who may call an operation: callers with the scope, any signed-in caller, or anyone at all."""
type Method = Callable[..., Any]


class Feature(Protocol):
    """A class of operations under one tag of the API."""

    tag: str


@dataclass(frozen=True, slots=True)
class Spec:
    """The declaration of an operation: the arguments of `@operation` and the method's signature."""

    verb: str
    path: str
    scope: Access
    name: str
    summary: str
    description: str
    tool: str | None = None
    aliases: tuple[str, ...] = ()
    message: str | None = None
    envelope: bool = True
    failures: Literal["http", "file"] = "http"
    query: tuple[str, ...] = ()
    takes_body: bool = True
    whole_body: str | None = None
    """The field that takes the whole JSON body, whatever its keys."""
    form: type[BaseModel] | None = None
    media_types: tuple[str, ...] = ()
    """The media types of the answer, if it is not JSON."""
    read_only: bool = False
    destructive: bool = False
    idempotent: bool = False
    open_world: bool = False
    page_text: bool = False
    """Whether the result has text that a page or a document wrote."""
    risky: Callable[[Any], bool] | None = None
    """Whether a request may destroy more than its caller means; None if no request does."""
    decides: bool = False
    """Whether a call decides for people. A program may make none, whatever its scopes, but for one that has the owner's key."""
    acts: tuple[Reach, ...] = ()
    """What a call acts on that a person may hold. The caller needs all of it."""
    shows: bool = False
    """Whether the result shows anything of the screen or the pages, which private mode hides."""
    ends_with_client: bool = False
    """Whether a call is cancelled when its client disconnects. Otherwise it runs on, and its result is dropped."""
    max_body: int = MAX_BODY
    """Limit in bytes of the JSON body."""
    deprecated: Deprecation | None = None
    """The deprecation of the operation, if any."""
    events: EventTypes | None = None
    """The types of the events of its stream, if it is one and says so."""
    socket: bool = False
    request: type[BaseModel] | None = None
    parameters: dict[str, str] = field(default_factory=dict)
    """Which injected value each parameter of the method takes: request, call, upload, body, socket, after."""
    returns: Any = None
    streams: bool = False

    @property
    def reads_json(self) -> bool:
        """Whether fields come from a JSON body. With a raw body or a form, they come from the query."""
        return self.takes_body and self.form is None and {"upload", "body"}.isdisjoint(self.parameters.values())


@dataclass(frozen=True, slots=True)
class Operation:
    """A `Spec` bound to the feature that implements it."""

    spec: Spec
    tag: str
    run: Method
    stream: Method | None = None
    stream_parameters: dict[str, str] = field(default_factory=dict)
    events: EventTypes | None = None
    """What its stream gives, in either form, if that is said."""

    @property
    def name(self) -> str:
        """Tag and name, as in logs and metrics: `shell.exec_command`."""
        return f"{self.tag}.{self.spec.name}"


OPEN_SCOPES = frozenset({"browser", "code", "control", "shell"})
"""Scopes whose operations reach pages and hosts outside of the sandbox."""


def operation(
    route: str,
    *,
    scope: Access,
    tool: str | None = None,
    aliases: tuple[str, ...] = (),
    operation_id: str | None = None,
    message: str | None = None,
    envelope: bool = True,
    failures: Literal["http", "file"] = "http",
    query: tuple[str, ...] = (),
    form: type[BaseModel] | None = None,
    media_type: str | tuple[str, ...] = (),
    takes_body: bool | None = None,
    whole_body: str | None = None,
    read_only: bool | None = None,
    destructive: bool = False,
    idempotent: bool | None = None,
    open_world: bool | None = None,
    page_text: bool = False,
    risky: Callable[[Any], bool] | None = None,
    decides: bool = False,
    acts: Reach | tuple[Reach, ...] = (),
    shows: bool | None = None,
    ends_with_client: bool = False,
    max_body: int = MAX_BODY,
    deprecated: Deprecation | None = None,
    events: EventTypes | None = None,
) -> Callable[[Method], Method]:
    """Make a method an operation.

    - `route`: verb and path, such as `"POST /v1/file/read"`. `{name}` in the path fills the request's field of that name.
    - Fields come from the path, then from the JSON body (POST, PUT, PATCH, or `takes_body`) or from the query.
    - `query`: fields that always come from the query.
    - `whole_body`: the field that takes the whole JSON body, whatever its keys.
    - `form`: the model of a multipart body.
    - `media_type`: the media type, or types, of an answer of bytes.
    - `message`: the envelope's message on success.
    - `decides`: whether a call decides for people: it makes a person, pauses or lets on the agent, or changes a policy. No program may make
      it, whatever its scopes, but for one that has the owner's key.
    - `acts`: what the operation acts on that a person may hold. If a person does, the call is refused or waits.
    - `shows`: whether the result shows anything of the screen or the pages, which private mode hides. The default is true for the scope
      `browser`.
    - `ends_with_client`: whether the call is cancelled when its client disconnects.
    - `max_body`: limit of the JSON body in bytes. Operations that take whole files need more.
    - `read_only`, `destructive`, `idempotent`, `open_world`: what an MCP client is told of the tool, by the words of the protocol's
      `ToolAnnotations`. The defaults are true for GET, false, true for PUT, and true for the scopes in OPEN_SCOPES.
    - `page_text`: whether the result has text that a page or a document wrote. An agent gets it between boundaries.
    - `risky`: whether a given request should get a checkpoint before it, if the settings ask for checkpoints.
    - `deprecated`: the deprecation, for the API document and the headers of every answer.
    - `events`: the types of the events that an async iterator of `Event` yields, for the API document.
    - `tool`: the name for agents. `aliases` are older names that still work and are not listed.
    """
    verb, path = _parse(route)

    def declare(method: Method) -> Method:
        spec = Spec(
            verb=verb,
            path=path,
            scope=scope,
            name=operation_id or method.__name__,
            tool=tool,
            aliases=aliases,
            message=message,
            envelope=envelope,
            failures=failures,
            query=query,
            takes_body=verb in {"POST", "PUT", "PATCH"} if takes_body is None else takes_body,
            whole_body=whole_body,
            form=form,
            media_types=(media_type,) if isinstance(media_type, str) else media_type,
            read_only=verb == "GET" if read_only is None else read_only,
            destructive=destructive,
            idempotent=verb == "PUT" if idempotent is None else idempotent,
            open_world=scope in OPEN_SCOPES if open_world is None else open_world,
            page_text=page_text,
            risky=risky,
            decides=decides,
            acts=(acts,) if isinstance(acts, str) else acts,
            shows=scope == "browser" if shows is None else shows,
            ends_with_client=ends_with_client,
            max_body=max_body,
            deprecated=deprecated,
            events=events,
            **_docs(method),
        )
        setattr(method, _SPEC, spec)
        return method

    return declare


def socket(path: str, *, scope: Access, shows: bool = False) -> Callable[[Method], Method]:
    """Make a method the server side of a WebSocket. It takes a `Socket`, and a request with fields from path and query.

    `shows` has the same meaning as for an operation.
    """

    def declare(method: Method) -> Method:
        spec = Spec(
            verb="GET",
            path=path,
            scope=scope,
            name=method.__name__,
            takes_body=False,
            shows=shows,
            socket=True,
            **_docs(method),
        )
        setattr(method, _SPEC, spec)
        return method

    return declare


def stream_of(method: Method, *, events: EventTypes | None = None) -> Callable[[Method], Method]:
    """Make an async generator of `Event` the streaming form of an operation, chosen by `Accept: text/event-stream`.

    `events` says in the API document what it gives.
    """

    def declare(stream: Method) -> Method:
        setattr(stream, _STREAM_OF, method.__name__)
        setattr(stream, _EVENTS, events)
        return stream

    return declare


def operations(feature: Feature) -> Iterator[Operation]:
    """Yield every operation of a feature, in source order."""
    methods = [(name, value) for cls in reversed(type(feature).__mro__) for name, value in vars(cls).items() if inspect.isfunction(value)]
    streams = {getattr(value, _STREAM_OF): name for name, value in methods if hasattr(value, _STREAM_OF)}
    for name, value in methods:
        spec = getattr(value, _SPEC, None)
        if spec is not None:
            stream = getattr(feature, streams[name]) if name in streams else None
            stream_parameters = _parameters(stream) if stream else {}
            yield Operation(
                _resolve(spec, value),
                feature.tag,
                getattr(feature, name),
                stream,
                stream_parameters,
                getattr(stream, _EVENTS, spec.events),
            )


def _parse(route: str) -> tuple[str, str]:
    verb, _, path = route.partition(" ")
    if verb not in {"GET", "HEAD", "OPTIONS", "POST", "PUT", "PATCH", "DELETE"} or not path.startswith("/"):
        raise ValueError(f"not a route: {route!r}")
    return verb, path


def _docs(method: Method) -> dict[str, Any]:
    text = inspect.cleandoc(method.__doc__ or "")
    if not text:
        raise ValueError(f"operation {method.__qualname__} has no docstring")
    summary, _, description = text.partition("\n")
    return {"summary": summary.strip(), "description": description.strip()}


def _resolve(spec: Spec, method: Method) -> Spec:
    """Read the signature late, so that declaring an operation imports nothing."""
    hints = get_type_hints(method)
    returns = _result_type(hints.get("return"))
    parameters = _parameters(method)
    request = next((hints[name] for name, role in parameters.items() if role == "request"), None)
    return replace(spec, request=request, parameters=parameters, returns=returns, streams=_is_stream(returns))


def _parameters(method: Method) -> dict[str, str]:
    return {name: _role(name, hint) for name, hint in get_type_hints(method).items() if name != "return"}


_ROLES: dict[Any, str] = {Call: "call", Upload: "upload", Body: "body", Socket: "socket"}


def _role(name: str, hint: Any) -> str:
    if hint in _ROLES:
        return _ROLES[hint]
    if isinstance(hint, type) and issubclass(hint, BaseModel):
        return "request"
    raise TypeError(f"parameter {name!r} has a type that no surface can provide: {hint!r}")


def _result_type(returns: Any) -> Any:
    return returns.__args__[0] if get_origin(returns) is Reply else returns


def _is_stream(returns: Any) -> bool:
    return get_origin(returns) in (AsyncIterator, AsyncGenerator) and returns.__args__[0] is Event
