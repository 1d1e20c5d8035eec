import socket
from pathlib import Path

from sandbox_server.drivers.stats.components import ComponentSockets


def test_a_socket_that_accepts_is_ready(tmp_path: Path) -> None:
    assert _state_of(tmp_path, socket.SOCK_STREAM, listening=True) == {"x": "ready"}


def test_a_socket_of_packets_is_ready_too(tmp_path: Path) -> None:
    assert _state_of(tmp_path, socket.SOCK_SEQPACKET, listening=True) == {"x": "ready"}


def test_a_socket_without_a_listener_is_not_answering(tmp_path: Path) -> None:
    assert _state_of(tmp_path, socket.SOCK_STREAM, listening=False) == {"x": "not answering"}


def test_a_missing_socket_is_not_started(tmp_path: Path) -> None:
    assert ComponentSockets({"x": f"{tmp_path}/x.sock"}).states() == {"x": "not started"}


def _state_of(tmp_path: Path, kind: int, *, listening: bool) -> dict[str, str]:
    path = f"{tmp_path}/x.sock"
    with socket.socket(socket.AF_UNIX, kind) as bound:
        bound.bind(path)
        if listening:
            bound.listen()
        return ComponentSockets({"x": path}).states()
