import httpx
import pytest
from tandem import wire
from tandem._async.connection import AsyncConnection
from tandem._sync.connection import Connection
from tandem.errors import HeldByPerson, TandemError, Unreachable

from tests.clients.python.conftest import Server

pytestmark = pytest.mark.anyio
PLACE = wire.Place("http://box", "key")
HELD = {"reason": "held_by_human", "holder": "ann", "epoch": 3}


@pytest.fixture(autouse=True)
def hasty(monkeypatch: pytest.MonkeyPatch) -> None:
    """No pauses."""
    monkeypatch.setattr(wire, "PAUSE_SECONDS", (0.001, 0.001))


def asynchronous(server: Server, patience: float = 0.0) -> AsyncConnection:
    return AsyncConnection(PLACE, patience, httpx.AsyncClient(transport=httpx.MockTransport(server.take)))


def blocking(server: Server, patience: float = 0.0) -> Connection:
    return Connection(PLACE, patience, httpx.Client(transport=httpx.MockTransport(server.take)))


async def test_a_call_has_the_key_and_gives_the_data(server: Server) -> None:
    server.then(200, [1, 2])
    async with asynchronous(server) as connection:
        assert await connection.call("GET", "/v1/x", list[int], query={"a": 1}) == [1, 2]
    assert str(server.asked[0].url) == "http://box/v1/x?a=1"
    assert server.asked[0].headers["authorization"] == "Bearer key"


def test_where_a_person_has_control_it_raises_or_waits(server: Server) -> None:
    server.then(423, HELD)
    with blocking(server) as connection, pytest.raises(HeldByPerson) as raised:
        connection.call("POST", "/v1/x", dict, body={})
    assert (raised.value.holder, raised.value.epoch) == ("ann", 3)
    server.then(423, HELD).then(200, {})
    with blocking(server, 30) as connection:
        connection.call("POST", "/v1/x", dict, body={})
    assert server.asked[-1].url.params["wait"] == "30"


def test_a_limit_is_waited_for(server: Server) -> None:
    server.then(429, None, {"retry-after": "0"}).then(503, None, {"retry-after": "0"}).then(200, 7)
    with blocking(server, 5) as connection:
        assert connection.call("POST", "/v1/x", int) == 7


async def test_nobody_there_is_said(server: Server) -> None:
    server.fail(httpx.ConnectError("refused"))
    async with asynchronous(server) as connection:
        with pytest.raises(Unreachable, match="http://box does not answer: refused"):
            await connection.call("GET", "/v1/x", int)


async def test_a_stream_goes_on_behind_the_last_event(server: Server) -> None:
    server.events("id: 1", "event: output", "data: 1", "", broken=True).events("id: 2", "event: exit", "data: 2", "")
    async with asynchronous(server) as connection:
        found = [event async for event in connection.stream("POST", "/v1/x", body={"command": "c"}, last=("exit",))]
    assert [(event.name, event.data) for event in found] == [("output", 1), ("exit", 2)]
    assert ["last-event-id" in request.headers for request in server.asked] == [False, True]
    assert server.asked[1].headers["last-event-id"] == "1"


def test_a_stream_waits_where_it_is_refused_for_now_as_a_call_does(server: Server) -> None:
    server.then(423, HELD).then(429, None, headers={"retry-after": "0"}).events("id: 1", "event: exit", "data: 1", "")
    with blocking(server, 60) as connection:
        assert [event.data for event in connection.stream("POST", "/v1/x", body={}, last=("exit",))] == [1]
    assert server.asked[1].url.params["wait"]
    server.then(423, HELD)
    with blocking(server) as connection, pytest.raises(HeldByPerson):
        list(connection.stream("POST", "/v1/x", body={}, last=("exit",)))


def test_a_stream_with_an_end_is_given_up_where_the_sandbox_stays_away(server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(wire, "AWAY_SECONDS", 0.0)
    server.events("id: 1", "event: output", "data: 1", "", broken=True).fail(httpx.ConnectError("away"))
    with blocking(server) as connection, pytest.raises(Unreachable):
        list(connection.stream("POST", "/v1/x", body={}, last=("exit",)))


def test_what_changes_something_is_not_sent_twice_without_an_id(server: Server) -> None:
    server.events(broken=True)
    with blocking(server) as connection, pytest.raises(Unreachable):
        list(connection.stream("POST", "/v1/x", body={}, last=("exit",)))
    server.events()
    with blocking(server) as connection, pytest.raises(TandemError, match="before its first event"):
        list(connection.stream("POST", "/v1/x", body={}, last=("exit",)))
    assert len(server.asked) == 2


def test_a_stream_that_only_tells_is_opened_again(server: Server) -> None:
    server.fail(httpx.ConnectError("x")).events("event: a", "data: 1", "").then(503, None, {"retry-after": "0"}).events("data: 2", "")
    with blocking(server) as connection:
        events = iter(connection.stream("GET", "/v1/events"))
        assert [next(events).data, next(events).data] == [1, 2]


def test_a_stream_that_is_refused_raises(server: Server) -> None:
    server.then(403, None, message="you may not")
    with blocking(server) as connection, pytest.raises(TandemError, match="you may not"):
        next(iter(connection.stream("GET", "/v1/events")))


def test_bytes_texts_and_whole_answers(server: Server) -> None:
    server.answers += [
        httpx.Response(200, content=b"\x00\xff"),
        httpx.Response(200, text="words"),
        httpx.Response(200, json={"ticket": "t"}),
    ]
    with blocking(server) as connection:
        assert connection.read("GET", "/a") == b"\x00\xff"
        assert connection.text("GET", "/b") == "words"
        assert connection.whole("POST", "/c", dict[str, str]) == {"ticket": "t"}
