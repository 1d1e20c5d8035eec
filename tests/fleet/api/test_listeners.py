"""Where applications are served."""

import socket
from pathlib import Path

from tandem_fleet.api.listeners import bind, listen


def test_a_socket_that_a_killed_process_left_is_replaced(tmp_path: Path) -> None:
    path = tmp_path / "fleet.sock"
    bind(path).close()
    listener = bind(path)
    assert path.stat().st_mode & 0o077 == 0
    with socket.socket(socket.AF_UNIX) as client:
        client.connect(str(path))
    listener.close()


def has_address(host: str) -> bool:
    """Whether this machine has it: a container may have no IPv6."""
    try:
        with socket.create_server((host, 0), family=socket.AF_INET6 if ":" in host else socket.AF_INET):
            return True
    except OSError:
        return False


def test_a_port_of_either_family_is_taken() -> None:
    for host in filter(has_address, ("127.0.0.1", "::1")):
        with listen(host, 0) as listener, socket.create_connection(listener.getsockname()[:2]):
            pass
