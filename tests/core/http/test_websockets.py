import pytest
from starlette.testclient import TestClient, WebSocketDenialResponse
from starlette.types import Message
from starlette.websockets import WebSocket, WebSocketDisconnect

from sandbox_server.core import Conflict, Model, Socket, socket
from sandbox_server.core.dispatch import Dispatcher, require_scope
from sandbox_server.core.http import create_app
from sandbox_server.core.http.websockets import AcceptedSocket
from sandbox_server.core.operation import operations

CALLER = {"X-Sandbox-Caller": "test", "X-Sandbox-Scopes": "code"}


class TalkRequest(Model):
    name: str
    loud: bool = False


class Talk:
    tag = "talk"

    def __init__(self) -> None:
        self.ended = 0

    @socket("/v1/talk/{name}", scope="code")
    async def talk(self, request: TalkRequest, socket: Socket) -> None:
        """Echo until the other side goes."""
        try:
            while (heard := await socket.receive()) is not None:
                if heard == "fail":
                    raise Conflict("that is enough")
                if heard == "end":
                    return
                answer = heard if isinstance(heard, bytes) else f"{request.name}: {heard}"
                await socket.send(answer.upper() if request.loud else answer)
        finally:
            self.ended += 1


@pytest.fixture
def talk() -> Talk:
    return Talk()


@pytest.fixture
def client(talk: Talk) -> TestClient:
    return TestClient(create_app(operations(talk), Dispatcher([require_scope])), headers=CALLER)


def test_text_and_bytes_go_both_ways(client: TestClient) -> None:
    with client.websocket_connect("/v1/talk/ann?loud=true") as socket:
        socket.send_text("hello")
        assert socket.receive_text() == "ANN: HELLO"
        socket.send_bytes(b"abc")
        assert socket.receive_bytes() == b"ABC"


def test_the_operation_ends_when_the_other_side_goes(client: TestClient, talk: Talk) -> None:
    with client.websocket_connect("/v1/talk/ann") as socket:
        socket.close()

    assert talk.ended == 1


def test_an_operation_that_ends_closes_the_socket(client: TestClient) -> None:
    with client.websocket_connect("/v1/talk/ann") as socket:
        socket.send_text("end")
        with pytest.raises(WebSocketDisconnect) as closed:
            socket.receive_text()

    assert closed.value.code == 1000


@pytest.mark.parametrize(
    ("path", "headers", "status", "reason"),
    [
        ("/v1/talk/ann?loud=perhaps", {}, 422, "Input should be a valid boolean"),
        ("/v1/talk/ann", {"X-Sandbox-Scopes": "view"}, 403, "needs the scope 'code'"),
    ],
)
def test_a_socket_that_is_refused_is_never_accepted(
    client: TestClient, talk: Talk, path: str, headers: dict[str, str], status: int, reason: str
) -> None:
    with pytest.raises(WebSocketDenialResponse) as refused, client.websocket_connect(path, headers=headers):
        pass

    assert refused.value.status_code == status
    assert reason in refused.value.text
    assert talk.ended == 0


def test_a_failure_closes_the_socket_with_its_sentence(client: TestClient) -> None:
    with client.websocket_connect("/v1/talk/ann") as socket:
        socket.send_text("fail")
        with pytest.raises(WebSocketDisconnect) as closed:
            socket.receive_text()

    assert closed.value.reason == "that is enough"


def test_nobody_is_not_let_in(client: TestClient, talk: Talk) -> None:
    with pytest.raises(WebSocketDisconnect) as closed, client.websocket_connect("/v1/talk/ann", headers={"X-Sandbox-Caller": ""}):
        pass

    assert closed.value.code == 4401
    assert talk.ended == 0


@pytest.mark.anyio
async def test_closing_a_socket_whose_other_side_has_vanished_does_nothing() -> None:
    async def receive() -> Message:
        return {"type": "websocket.connect"}

    sent: list[str] = []

    async def send(message: Message) -> None:
        sent.append(message["type"])
        if message["type"] == "websocket.close":
            raise OSError("the connection is gone")

    websocket = WebSocket({"type": "websocket"}, receive, send)
    await websocket.accept()
    await AcceptedSocket(websocket).close(4000, "reason")
    assert sent == ["websocket.accept", "websocket.close"]
