"""The only way to call an operation: validate the fields, pass the guards in order, run the method."""

from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from functools import reduce
from inspect import isawaitable
from typing import Any, cast

from pydantic import BaseModel, RootModel, ValidationError
from pydantic.fields import FieldInfo

from sandbox_server.core.errors import InvalidArgument, PermissionDenied, left_to_people
from sandbox_server.core.operation import Operation
from sandbox_server.core.results import Call, Event, NullCounts
from sandbox_server.core.tool_allow_list import names_one
from sandbox_server.core.unknown_fields import UnknownField

type Proceed = Callable[[], Awaitable[object]]
type Guard = Callable[[Operation, BaseModel | None, Call, Proceed], Awaitable[object]]


class InvalidFields(Exception):
    """The fields do not fit the operation's request. `problems` are pydantic's, without the values that were sent."""

    def __init__(self, problems: list[dict[str, Any]]) -> None:
        super().__init__("; ".join(f"{'.'.join(map(str, p['loc']))}: {p['msg']}" for p in problems))
        self.problems = problems


class Dispatcher:
    """Calls operations for every surface, so that every surface applies the same rules."""

    def __init__(self, guards: Sequence[Guard]) -> None:
        self._guards = guards

    async def admit(self, operation: Operation, call: Call) -> None:
        """Refuse a call that its caller may not make with any fields, before they are read. Every guard sees the attempt.

        Raises PermissionDenied.
        """
        try:
            for right in RIGHTS:
                if right in self._guards:
                    await right(operation, None, call, _nothing)
        except PermissionDenied as refusal:
            await self._run_with_guards(operation, None, call, _nothing)
            raise refusal from None

    async def call(
        self,
        operation: Operation,
        fields: Mapping[str, object],
        call: Call,
        injected: Mapping[str, object] | None = None,
    ) -> object:
        """Run the operation and return its method's result.

        `injected` holds what only some surfaces have, by role: `upload`, `body`, `socket`. Raises `InvalidFields` or a
        `Failure`; any other exception is a bug.
        """
        request = validate(operation, fields, strict=call.surface != "http")
        arguments = _arguments(
            operation,
            operation.spec.parameters,
            {"request": request, "call": call, **(injected or {})},
        )
        return await self._run_with_guards(operation, request, call, lambda: operation.run(**arguments))

    async def stream(self, operation: Operation, fields: Mapping[str, object], call: Call) -> AsyncIterator[Event]:
        """Run the streaming form of the operation. The guards are passed at its start."""
        request = validate(operation, fields, strict=call.surface != "http")
        parameters = operation.stream_parameters if operation.stream else operation.spec.parameters
        arguments = _arguments(operation, parameters, {"request": request, "call": call})

        async def begin() -> object:
            started = (operation.stream or operation.run)(**arguments)
            return await started if isawaitable(started) else started  # some streams can fail before their first event

        return cast("AsyncIterator[Event]", await self._run_with_guards(operation, request, call, begin))

    async def _run_with_guards(self, operation: Operation, request: BaseModel | None, call: Call, run: Proceed) -> object:
        def wrap(proceed: Proceed, guard: Guard) -> Proceed:
            return lambda: guard(operation, request, call, proceed)

        return await reduce(wrap, reversed(self._guards), run)()


async def require_scope(operation: Operation, request: BaseModel | None, call: Call, proceed: Proceed) -> object:
    """Guard: the caller must have the operation's scope."""
    scope = operation.spec.scope
    if scope not in ("any", "public") and not call.caller.may(scope):
        raise PermissionDenied(f"{operation.name} needs the scope {scope!r}", scope=scope)
    return await proceed()


async def require_decider(operation: Operation, request: BaseModel | None, call: Call, proceed: Proceed) -> object:
    """Guard: what decides for people is done by people, and with the owner's key."""
    if operation.spec.decides and not call.caller.decides:
        raise left_to_people(operation.name)
    return await proceed()


async def require_tool(operation: Operation, request: BaseModel | None, call: Call, proceed: Proceed) -> object:
    """Guard: a caller whose token names tools may use only those operations, on every surface."""
    spec = operation.spec
    if spec.scope not in ("any", "public") and not names_one(call.caller.tools, (spec.tool, *spec.aliases) if spec.tool else ()):
        raise PermissionDenied(f"your token does not allow the tool {spec.tool or operation.name}", operation=operation.name)
    return await proceed()


RIGHTS: tuple[Guard, ...] = (require_scope, require_decider, require_tool)
"""The guards that need no fields."""


async def _nothing() -> object:
    return None


def validate(operation: Operation, fields: Mapping[str, object], *, strict: bool) -> BaseModel | None:
    """Build the operation's request. A RootModel (a union of several) takes all fields as they are.

    A null for a field with a default counts as missing, unless it is marked `NullCounts`: clients send null for every
    optional field. With `strict`, an unknown field is an error, from which an agent learns the real ones.
    """
    model = operation.spec.request
    if model is None:
        return None
    if issubclass(model, RootModel):
        return _built(model, {name: value for name, value in fields.items() if value is not None})
    known = model.model_fields
    if strict and (unknown := set(fields) - set(known)):
        first = UnknownField(min(unknown), "", frozenset(known) - fields.keys())
        raise InvalidArgument(f"{operation.name} has no field {first}; it has {', '.join(sorted(known)) or 'none'}")
    given = {name: value for name, value in fields.items() if value is not None or name not in known or _takes_null(known[name])}
    return _built(model, given)


def _takes_null(field: FieldInfo) -> bool:
    return field.is_required() or any(isinstance(mark, NullCounts) for mark in field.metadata)


def _built(model: type[BaseModel], given: Mapping[str, object]) -> BaseModel:
    try:
        return model.model_validate(given)
    except ValidationError as error:
        raise InvalidFields([{"loc": p["loc"], "msg": p["msg"], "type": p["type"]} for p in error.errors(include_url=False)]) from None


def _arguments(operation: Operation, parameters: Mapping[str, str], values: Mapping[str, object]) -> dict[str, object]:
    missing = [role for role in parameters.values() if role not in values]
    if missing:
        raise InvalidArgument(f"{operation.name} takes a {missing[0]}, which this surface cannot provide")
    return {name: values[role] for name, role in parameters.items()}
