from collections.abc import AsyncIterator
from typing import Annotated, Literal

import pytest
from pydantic import BaseModel

from sandbox_server.core import (
    Call,
    Caller,
    Conflict,
    Event,
    InvalidArgument,
    Model,
    NullCounts,
    PermissionDenied,
    Upload,
    operation,
    stream_of,
)
from sandbox_server.core.dispatch import Dispatcher, InvalidFields, Proceed, require_scope, require_tool
from sandbox_server.core.operation import Operation, operations

pytestmark = pytest.mark.anyio


class Nested(Model):
    size: int


class Fields(Model):
    name: str
    count: int = 3
    nested: Nested | None = None
    policy: Annotated[bool | None, NullCounts()] = None


class Feature:
    tag = "feature"

    @operation("POST /v1/echo", scope="code")
    async def echo(self, request: Fields, call: Call) -> tuple[Fields, Call]:
        """Give back what came."""
        return request, call

    @stream_of(echo)
    async def echo_events(self, request: Fields) -> AsyncIterator[Event]:
        """Tell what came."""
        yield Event("name", request.name)

    @operation("GET /v1/nothing", scope="public")
    async def nothing(self) -> str:
        """Take nothing."""
        return "nothing"

    @operation("GET /v1/tooled", scope="code", tool="tooled", aliases=("older",))
    async def tooled(self) -> str:
        """Be a tool."""
        return "tooled"

    @operation("GET /v1/anyone", scope="any")
    async def anyone(self) -> str:
        """Take anyone."""
        return "anyone"

    @operation("POST /v1/upload", scope="files")
    async def upload(self, upload: Upload) -> None:
        """Take an upload."""


OPERATIONS: dict[str, Operation] = {op.spec.name: op for op in operations(Feature())}


def call(surface: Literal["http", "mcp", "cli"] = "http", scopes: str = "code") -> Call:
    return Call(Caller("test", frozenset(scopes.split())), "r-1", surface)


async def test_the_method_gets_its_request_and_its_call() -> None:
    asked = call()

    assert await Dispatcher([]).call(OPERATIONS["echo"], {"name": "a"}, asked) == (Fields(name="a"), asked)


async def request_of(fields: dict[str, object]) -> Fields:
    """What `echo` is given."""
    result = await Dispatcher([]).call(OPERATIONS["echo"], fields, call())
    assert isinstance(result, tuple)
    assert isinstance(result[0], Fields)
    return result[0]


async def test_null_means_not_given_where_there_is_a_default() -> None:
    assert (await request_of({"name": "a", "count": None})).count == 3


async def test_null_is_given_where_it_says_something() -> None:
    assert (await request_of({"name": "a", "policy": None, "count": None})).model_fields_set == {"name", "policy"}


async def test_null_for_what_is_required_is_a_problem() -> None:
    with pytest.raises(InvalidFields, match="name: Input should be a valid string"):
        await Dispatcher([]).call(OPERATIONS["echo"], {"name": None}, call())


async def test_every_problem_is_named_without_what_was_sent() -> None:
    with pytest.raises(InvalidFields) as refused:
        await Dispatcher([]).call(OPERATIONS["echo"], {"count": "hunter2", "nested": {"size": "hunter2"}}, call())

    assert [problem["loc"] for problem in refused.value.problems] == [("name",), ("count",), ("nested", "size")]
    assert all(set(problem) == {"loc", "msg", "type"} for problem in refused.value.problems)
    assert "hunter2" not in str(refused.value)


@pytest.mark.parametrize("surface", ["mcp", "cli"])
async def test_an_agent_learns_of_a_field_that_does_not_exist(surface: Literal["mcp", "cli"]) -> None:
    with pytest.raises(InvalidArgument, match=r"feature.echo has no field 'colour'; it has count, name, nested"):
        await Dispatcher([]).call(OPERATIONS["echo"], {"name": "a", "colour": "red"}, call(surface))


async def test_over_http_a_field_of_a_newer_client_is_passed_over() -> None:
    assert await request_of({"name": "a", "colour": "red"}) == Fields(name="a")


async def test_an_operation_without_fields_takes_any_http_call() -> None:
    assert await Dispatcher([]).call(OPERATIONS["nothing"], {"ticket": "t"}, call()) == "nothing"


async def test_what_a_surface_cannot_give_is_refused() -> None:
    with pytest.raises(InvalidArgument, match="takes a upload"):
        await Dispatcher([]).call(OPERATIONS["upload"], {}, call("mcp"))


async def test_guards_run_outside_in_around_the_method_and_the_start_of_a_stream() -> None:
    order: list[str] = []

    def guard(name: str) -> object:
        async def guarded(operation: Operation, request: BaseModel | None, call: Call, proceed: Proceed) -> object:
            order.append(f"{name} in")
            try:
                return await proceed()
            finally:
                order.append(f"{name} out")

        return guarded

    dispatcher = Dispatcher([guard("first"), guard("second")])  # type: ignore[list-item]
    await dispatcher.call(OPERATIONS["echo"], {"name": "a"}, call())
    assert order == ["first in", "second in", "second out", "first out"]

    order.clear()
    events = await dispatcher.stream(OPERATIONS["echo"], {"name": "a"}, call())
    assert order == ["first in", "second in", "second out", "first out"]
    assert [event.data async for event in events] == ["a"]


async def test_a_guard_can_refuse_a_call_and_its_stream() -> None:
    async def refuse(operation: Operation, request: BaseModel | None, call: Call, proceed: Proceed) -> object:
        raise Conflict(f"not now, {operation.name}")

    dispatcher = Dispatcher([refuse])
    with pytest.raises(Conflict, match=r"not now, feature.echo"):
        await dispatcher.call(OPERATIONS["echo"], {"name": "a"}, call())
    with pytest.raises(Conflict):
        await dispatcher.stream(OPERATIONS["echo"], {"name": "a"}, call())


async def test_a_caller_needs_the_scope_of_what_it_calls() -> None:
    dispatcher = Dispatcher([require_scope])

    with pytest.raises(PermissionDenied, match="needs the scope 'code'"):
        await dispatcher.call(OPERATIONS["echo"], {"name": "a"}, call(scopes="view files"))
    with pytest.raises(PermissionDenied):
        await dispatcher.stream(OPERATIONS["echo"], {"name": "a"}, call(scopes=""))
    assert await dispatcher.call(OPERATIONS["anyone"], {}, call(scopes="")) == "anyone"
    assert await dispatcher.call(OPERATIONS["nothing"], {}, call(scopes="")) == "nothing"


@pytest.mark.parametrize(
    ("tools", "passes"),
    [
        (None, {"tooled", "nothing", "anyone", "echo"}),
        (("tool*",), {"tooled", "nothing", "anyone"}),
        (("older",), {"tooled", "nothing", "anyone"}),
        ((), {"nothing", "anyone"}),
        (("feature.echo", "echo"), {"nothing", "anyone"}),
    ],
)
async def test_a_token_that_names_its_tools_is_for_them_alone(tools: tuple[str, ...] | None, passes: set[str]) -> None:
    asked = Call(Caller("test", frozenset({"code"}), tools), "r-1")
    passed = set()
    for name in ("tooled", "nothing", "anyone", "echo"):
        try:
            await Dispatcher([require_tool]).call(OPERATIONS[name], {"name": "x"} if name == "echo" else {}, asked)
        except PermissionDenied:
            continue
        passed.add(name)

    assert passed == passes
