"""What the callers of an application share."""

import asyncio
from collections.abc import AsyncIterator

import pytest
from starlette.testclient import TestClient, WebSocketDenialResponse
from starlette.websockets import WebSocketDisconnect

from sandbox_server.core import Call, Event, Model, Socket, operation
from sandbox_server.core import socket as websocket
from sandbox_server.core.dispatch import Dispatcher, require_scope
from sandbox_server.core.http import create_app
from sandbox_server.core.http.concurrency_limits import Limits
from sandbox_server.core.operation import operations
from sandbox_server.core.quota import Quota

AGENT = {"x-sandbox-caller": "agent", "x-sandbox-scopes": "view"}
PERSON = {"x-sandbox-caller": "ann#1", "x-sandbox-scopes": "view", "x-sandbox-actor": "person"}


class Text(Model):
    text: str


class Lasting:
    """What goes on."""

    tag = "lasting"

    @websocket("/socket", scope="view")
    async def talk(self, socket: Socket, call: Call) -> None:
        """Say who is there, until the client leaves."""
        await socket.send(call.caller.name)
        while await socket.receive() is not None:
            pass

    @operation("GET /events", scope="view")
    async def follow(self) -> AsyncIterator[Event]:
        """Tell one thing, then wait."""
        yield Event("news", {})
        await asyncio.Event().wait()

    @operation("POST /text", scope="shell")
    async def take(self, request: Text) -> None:
        """Take a text."""


@pytest.fixture
def limits() -> Limits:
    found = Limits()
    found.open = Quota("open sockets", 2, programs=1, each=1)
    return found


@pytest.fixture
def client(limits: Limits) -> TestClient:
    return TestClient(create_app(operations(Lasting()), Dispatcher([require_scope]), limits=limits))


def test_a_program_has_its_share_of_the_sockets_and_a_person_takes_a_programs(client: TestClient, limits: Limits) -> None:
    with client.websocket_connect("/socket", headers=AGENT) as agent:
        assert agent.receive_text() == "agent"
        with pytest.raises(WebSocketDenialResponse) as refused, client.websocket_connect("/socket", headers=AGENT):
            pass
        assert refused.value.status_code == 429
        with client.websocket_connect("/socket", headers=PERSON), client.websocket_connect("/socket", headers=PERSON) as second:
            assert second.receive_text() == "ann#1"
            with pytest.raises(WebSocketDisconnect) as closed:
                agent.receive_text()
            assert (closed.value.code, closed.value.reason) == (4429, "a person needed your slot")
    assert limits.open.taken == 0


def test_a_process_of_the_sandboxs_own_takes_no_place_of_whom_it_asks_for(client: TestClient, limits: Limits) -> None:
    own = {**AGENT, "x-sandbox-scopes": "view server"}
    with client.websocket_connect("/socket", headers=own), client.websocket_connect("/socket", headers=own):
        assert limits.open.taken == 0


def test_who_may_not_call_is_refused_before_a_body_is_read(client: TestClient) -> None:
    refused = client.post("/text", headers=AGENT, content=b"{")
    assert refused.status_code == 403
    assert client.post("/text", headers={**AGENT, "x-sandbox-scopes": "shell"}, content=b"{").status_code == 422


def test_calls_at_once_leave_some_for_people(client: TestClient, limits: Limits) -> None:
    limits.calls = Quota("calls", 2, programs=1, each=1)
    headers = {**AGENT, "x-sandbox-scopes": "shell"}
    with limits.calls.take("agent", person=False):
        assert client.post("/text", headers=headers, json={"text": "x"}).status_code == 429
        person = {**PERSON, "x-sandbox-scopes": "shell"}
        assert client.post("/text", headers=person, json={"text": "x"}).status_code == 200
    assert limits.calls.taken == 0
