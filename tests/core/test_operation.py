from collections.abc import AsyncIterator

import pytest

from sandbox_server.core import Body, Call, Event, Model, Socket, Upload, operation, socket, stream_of
from sandbox_server.core.operation import Operation, operations


class Thing(Model):
    name: str


class Base:
    tag = "things"

    @operation("GET /v1/things", scope="view")
    async def first(self) -> list[Thing]:
        """Say the first.

        And more of it.
        """
        return []


class Feature(Base):
    @operation("POST /v1/things/{name}", scope="files", tool="thing", aliases=("old",), operation_id="make_thing")
    async def make(self, request: Thing, call: Call) -> Thing:
        """Make one."""
        return request

    @operation("PUT /v1/things", scope="files")
    async def put(self, body: Body, upload: Upload) -> None:
        """Put one."""

    @stream_of(make)
    async def make_events(self, request: Thing) -> AsyncIterator[Event]:
        """Tell how it goes."""
        yield Event("made", request.name)

    @operation("GET /v1/events", scope="view")
    async def events(self) -> AsyncIterator[Event]:
        """Tell of everything."""
        yield Event("start", None)

    @socket("/v1/things/ws", scope="view")
    async def talk(self, socket: Socket) -> None:
        """Talk."""

    def helper(self) -> None:
        """Not an operation."""


def found() -> dict[str, Operation]:
    return {op.spec.name: op for op in operations(Feature())}


def test_the_operations_of_a_feature_come_in_the_order_of_its_source_inherited_ones_first() -> None:
    assert list(found()) == ["first", "make_thing", "put", "events", "talk"]


def test_a_declaration_says_what_it_was_told_and_what_the_signature_says() -> None:
    make = found()["make_thing"]

    assert (make.name, make.spec.verb, make.spec.path) == ("things.make_thing", "POST", "/v1/things/{name}")
    assert (make.spec.scope, make.spec.tool, make.spec.aliases) == ("files", "thing", ("old",))
    assert (make.spec.request, make.spec.returns) == (Thing, Thing)
    assert make.spec.parameters == {"request": "request", "call": "call"}
    assert found()["put"].spec.parameters == {"body": "body", "upload": "upload"}


def test_the_docstring_is_the_documentation() -> None:
    first = found()["first"].spec

    assert (first.summary, first.description) == ("Say the first.", "And more of it.")


def test_only_reading_is_taken_for_reading() -> None:
    assert found()["first"].spec.read_only
    assert not found()["make_thing"].spec.read_only


def test_a_stream_belongs_to_its_operation_and_a_generator_is_one_itself() -> None:
    operations = found()

    assert operations["make_thing"].stream is not None
    assert not operations["make_thing"].spec.streams
    assert operations["events"].spec.streams
    assert operations["events"].stream is None


def test_a_socket_is_an_operation_without_a_body() -> None:
    talk = found()["talk"].spec

    assert (talk.socket, talk.takes_body, talk.parameters) == (True, False, {"socket": "socket"})


@pytest.mark.parametrize("route", ["POST", "FETCH /v1/x", "/v1/x", "GET v1/x", "get /v1/x"])
def test_a_route_is_a_verb_and_a_path(route: str) -> None:
    with pytest.raises(ValueError, match="not a route"):
        operation(route, scope="view")


def test_an_operation_without_a_docstring_is_refused_at_once() -> None:
    async def silent(self: object) -> None: ...

    with pytest.raises(ValueError, match="silent has no docstring"):
        operation("GET /v1/x", scope="view")(silent)


def test_a_parameter_that_no_surface_can_fill_is_refused() -> None:
    class Wrong:
        tag = "wrong"

        @operation("GET /v1/x", scope="view")
        async def take(self, number: int) -> None:
            """Take a number."""

    with pytest.raises(TypeError, match="'number'"):
        list(operations(Wrong()))
