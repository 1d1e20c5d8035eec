"""Admission of viewers: the gateway says who may see, and input counts from who may act."""

import json
import socket as socketlib
import threading
from collections.abc import Iterator
from contextlib import AsyncExitStack
from pathlib import Path

import pytest
from starlette.testclient import TestClient, WebSocketDenialResponse, WebSocketTestSession
from starlette.websockets import WebSocketDisconnect
from websockets.sync.server import ServerConnection, unix_serve

from sandbox_server.core.identity import Caller
from sandbox_server.settings import StreamSettings
from sandbox_server.stream import app as module
from sandbox_server.stream import wire
from sandbox_server.stream.app import PLACE_TAKEN, UNSUPPORTED, create, open_port
from sandbox_server.stream.codecs.reference_decoder import ReferenceDecoder
from sandbox_server.stream.input.input_echo import RIGHT
from sandbox_server.stream.transport import channel
from sandbox_server.stream.transport.signaling import INVITED
from tests.drivers.x11.conftest import XServer
from tests.patience import PATIENCE_SECONDS

# Xlib leaves the socket to the garbage collector where it could not connect.
pytestmark = pytest.mark.filterwarnings("ignore:Exception ignored in. <socket.socket:pytest.PytestUnraisableExceptionWarning")

VIEW = {"x-sandbox-caller": "key", "x-sandbox-scopes": "view"}
CONTROL = {"x-sandbox-caller": "key", "x-sandbox-scopes": "view control"}


@pytest.mark.parametrize(("headers", "status"), [({}, 401), ({"x-sandbox-caller": "key", "x-sandbox-scopes": "shell"}, 403)])
def test_who_may_not_look_is_not_let_in(headers: dict[str, str], status: int) -> None:
    with TestClient(create(":99", "/nonexistent", "/nonexistent")) as client, pytest.raises(WebSocketDenialResponse) as refused:
        client.websocket_connect("/stream/socket", headers=headers).__enter__()
    assert refused.value.status_code == status


@pytest.fixture
def api(tmp_path: Path) -> Iterator[str]:
    """The socket of an API that lets every viewer see, and none drive."""

    def tell(connection: ServerConnection) -> None:
        connection.send(json.dumps({"epoch": 1, "drives": False, "sees": True, "programs": True}))
        for _ in connection:
            pass

    path = str(tmp_path / "api.sock")
    with unix_serve(tell, path) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield path
        server.shutdown()
        thread.join(PATIENCE_SECONDS)


def test_what_is_done_on_a_page_is_told_to_who_watches(xserver: XServer, api: str, tmp_path: Path) -> None:
    seen, followed = threading.Event(), []

    def tell(connection: ServerConnection) -> None:
        assert connection.request
        followed.append(connection.request.path)
        while not seen.wait(0.05):  # it counts from when the viewer is there
            connection.send(json.dumps({"kind": "right", "times": 1, "x": 30, "y": 40}))

    path, picture = str(tmp_path / "cdp.sock"), ReferenceDecoder()
    with unix_serve(tell, path) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        with (
            TestClient(create(xserver.name, api, "/nonexistent", browser=path)) as client,
            client.websocket_connect("/stream/socket", headers=VIEW) as socket,
        ):
            socket.send_bytes(wire.serialize(wire.Hello(wire.VERSION, videos=False)))
            while not picture.echoes:
                picture.take(socket.receive_bytes())
            seen.set()
        server.shutdown()
        thread.join(PATIENCE_SECONDS)
    assert followed == ["/browser/acts"]
    assert (picture.echoes[0].what, picture.echoes[0].at) == (RIGHT, (30, 40))


@pytest.mark.parametrize(("headers", "rights"), [(VIEW, 0), (CONTROL, wire.MAY_ACT)])
def test_a_viewer_is_told_its_rights_and_shown_the_screen(xserver: XServer, api: str, headers: dict[str, str], rights: int) -> None:
    picture = ReferenceDecoder()
    with (
        TestClient(create(xserver.name, api, "/nonexistent")) as client,
        client.websocket_connect("/stream/socket", headers=headers) as socket,
    ):
        socket.send_bytes(wire.serialize(wire.Hello(wire.VERSION, videos=False)))
        while picture.take(socket.receive_bytes()) is None:
            continue
    assert picture.rights == rights
    assert (picture.canvas.width, picture.canvas.height) == (3840, 2160)


@pytest.mark.parametrize("message", [b"\xff", "text", wire.serialize(wire.Hello(99, videos=False))])
def test_what_is_no_message_closes_the_socket_and_says_why(xserver: XServer, message: bytes | str) -> None:
    with (
        TestClient(create(xserver.name, "/nonexistent", "/nonexistent")) as client,
        client.websocket_connect("/stream/socket", headers=VIEW) as socket,
    ):
        socket.send({"type": "websocket.receive", "text" if isinstance(message, str) else "bytes": message})
        while (sent := socket.receive())["type"] != "websocket.close":
            continue
    assert sent["code"] == UNSUPPORTED


def free_port() -> int:
    with socketlib.socket(socketlib.AF_INET, socketlib.SOCK_DGRAM) as free:
        free.bind(("127.0.0.1", 0))
        port: int = free.getsockname()[1]
        return port


@pytest.mark.parametrize("opened", [False, True], ids=["closed", "open"])
def test_viewers_are_invited_to_datagrams_where_the_port_is_set_alone(xserver: XServer, api: str, opened: bool) -> None:
    stream = StreamSettings(udp_port=free_port() if opened else 0)
    app = create(xserver.name, api, "/nonexistent", stream)
    with TestClient(app) as client, client.websocket_connect("/stream/socket", headers=VIEW) as socket:
        socket.send_bytes(wire.serialize(wire.Hello(wire.VERSION, videos=False)))
        while socket.receive_bytes()[0] != wire.HELLO:
            continue
        assert (socket.receive_bytes() == wire.signal(INVITED)) == opened


@pytest.mark.anyio
async def test_a_host_that_a_program_names_is_not_looked_up(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[str] = []

    async def address_of(host: str) -> str:
        asked.append(host)
        return ""

    monkeypatch.setattr(channel, "address_of", address_of)
    program, person = Caller("agent", frozenset({"view"})), Caller("ann", frozenset({"view"}), person=True)
    async with AsyncExitStack() as stack:
        channels = await open_port(StreamSettings(udp_port=free_port()), stack)
        assert channels
        for caller in (program, person):
            async with channels(f"{caller.name}.example", caller)(lambda *_: None) as made:
                assert f"{caller.name}.example" in made.introduction
    assert asked == ["ann.example"]


def test_a_port_that_cannot_be_had_is_done_without(xserver: XServer, caplog: pytest.LogCaptureFixture) -> None:
    with socketlib.socket(socketlib.AF_INET, socketlib.SOCK_DGRAM) as taken:
        taken.bind(("0.0.0.0", 0))
        app = create(xserver.name, "/nonexistent", "/nonexistent", StreamSettings(udp_port=taken.getsockname()[1]))
        with TestClient(app) as client:
            assert client.get("/healthz").status_code == 200
    assert "cannot be had" in caplog.text


def test_the_process_is_healthy_without_a_desktop() -> None:
    with TestClient(create(":98", "/nonexistent", "/nonexistent")) as client:
        assert client.get("/healthz").status_code == 200


PERSON = {"x-sandbox-caller": "ann#1", "x-sandbox-scopes": "view", "x-sandbox-actor": "person"}


def last_of(socket: WebSocketTestSession) -> WebSocketDisconnect:
    """How a socket is closed, after what is sent before."""
    while True:
        try:
            socket.receive_bytes()
        except WebSocketDisconnect as closed:
            return closed


def test_a_program_has_a_share_of_the_places_and_a_person_the_one_of_the_first_program(
    xserver: XServer, api: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, most in (("MAX_VIEWERS", 2), ("PROGRAM_VIEWERS", 1), ("VIEWERS_OF_ONE", 1)):
        monkeypatch.setattr(module, name, most)
    with (
        TestClient(create(xserver.name, api, "/nonexistent")) as client,
        client.websocket_connect("/stream/socket", headers=VIEW) as program,
    ):
        with pytest.raises(WebSocketDenialResponse) as refused:
            client.websocket_connect("/stream/socket", headers=VIEW).__enter__()
        assert refused.value.status_code == 429
        with client.websocket_connect("/stream/socket", headers=PERSON), client.websocket_connect("/stream/socket", headers=PERSON):
            closed = last_of(program)
            assert (closed.code, closed.reason) == (PLACE_TAKEN, "a person needed your slot")
