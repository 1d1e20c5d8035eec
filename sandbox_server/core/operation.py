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
"""Bytes of a JSON body, where an operation says nothing else."""
MAX_FILE_BODY = 256 << 20
"""Bytes of one that holds a file: larger ones are uploaded."""

type Access = Scope | Literal["any", "public"]
"""Who may call an operation: holders of the scope, anyone who signed in, or anyone at all."""
type Method = Callable[..., Any]


class Feature(Protocol):
    """A class of operations under one tag of the API."""

    tag: str


@dataclass(frozen=True, slots=True)
class Spec:
    """What `@operation` was told, and what the method's signature says."""

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
    """The field that the JSON body fills as it is, whatever its keys."""
    form: type[BaseModel] | None = None
    media_types: tuple[str, ...] = ()
    """Of what it answers with, where that is not JSON."""
    read_only: bool = False
    destructive: bool = False
    risky: Callable[[Any], bool] | None = None
    """Whether a request may destroy more than its caller means; None: none does."""
    acts: tuple[Reach, ...] = ()
    """What a call moves that a person may hold: it needs all of that."""
    shows: bool = False
    """Whether it tells anything of the screen or the pages, which a person may hide."""
    ends_with_client: bool = False
    """Whether a call is cancelled when its client hangs up; else it goes on, and its result is lost."""
    max_body: int = MAX_BODY
    """Bytes that its JSON body may have."""
    deprecated: Deprecation | None = None
    """Since when it is deprecated, if it is."""
    events: EventTypes | None = None
    """What its stream gives, if that is said."""
    socket: bool = False
    request: type[BaseModel] | None = None
    parameters: dict[str, str] = field(default_factory=dict)
    """Which injected value each parameter of the method takes: request, call, upload, body, socket, after."""
    returns: Any = None
    streams: bool = False

    @property
    def reads_json(self) -> bool:
        """Whether fields come from a JSON body; where the body is raw or a form, they come from the query."""
        return self.takes_body and self.form is None and {"upload", "body"}.isdisjoint(self.parameters.values())


@dataclass(frozen=True, slots=True)
class Operation:
    """A `Spec` bound to the feature that carries it out."""

    spec: Spec
    tag: str
    run: Method
    stream: Method | None = None
    stream_parameters: dict[str, str] = field(default_factory=dict)
    events: EventTypes | None = None
    """What its stream gives, in either form, if that is said."""

    @property
    def name(self) -> str:
        """Tag and name, as logs and metrics show it: `shell.exec_command`."""
        return f"{self.tag}.{self.spec.name}"


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
    risky: Callable[[Any], bool] | None = None,
    acts: Reach | tuple[Reach, ...] = (),
    shows: bool | None = None,
    ends_with_client: bool = False,
    max_body: int = MAX_BODY,
    deprecated: Deprecation | None = None,
    events: EventTypes | None = None,
) -> Callable[[Method], Method]:
    """Make a method an operation.

    `route` is verb and path, such as `"POST /v1/file/read"`; `{name}` in the path fills the request's field of that name.
    A request's fields come from the path, then the JSON body (POST, PUT, PATCH, or `takes_body`) or the query; `query` names fields
    that come from the query even so; `whole_body` names the one that takes the whole JSON body, whatever its keys.
    `form` is the model of a multipart body. `media_type` is what an answer of bytes is, or each that it may be.
    `message` is the envelope's message on success.
    `acts` names what it moves, one thing or several, of which a person may hold any: then it is refused, or waits.
    `shows` says that it tells something of the screen or the pages, which a person may hide; left out, whatever has the scope `browser`
    does.
    `ends_with_client` is for work that is of use to nobody once its client has hung up: it is cancelled then.
    `max_body` bounds its JSON body, in bytes; what takes whole files takes more.
    `risky` tells of a request whether a checkpoint should be made before it, where the settings ask for such.
    `deprecated` says so in the API document and in the headers of every answer.
    `events` says in the API document what an async iterator of `Event` gives.
    `tool` is the name by which an agent sees it, `aliases` are older names that stay callable and are not listed.
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
            risky=risky,
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
    """Make a method the other end of a WebSocket; it takes a `Socket`, and a request whose fields come from path and query.

    `shows` says that it tells something of the screen or the pages, as for an operation.
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
    """Every operation of a feature, in the order of its source."""
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
    returns = _unwrapped(hints.get("return"))
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
    raise TypeError(f"parameter {name!r} has a type no surface can fill: {hint!r}")


def _unwrapped(returns: Any) -> Any:
    return returns.__args__[0] if get_origin(returns) is Reply else returns


def _is_stream(returns: Any) -> bool:
    return get_origin(returns) in (AsyncIterator, AsyncGenerator) and returns.__args__[0] is Event
