import os
import socket
from pathlib import Path

from sandbox_server.drivers.ipc.unix_listener import listen, peer_uid
from sandbox_server.drivers.spawn.child_setup import Account


def test_a_socket_is_its_owner_s_alone_and_replaces_a_stale_one(tmp_path: Path) -> None:
    path = tmp_path / "sock"
    path.write_text("stale")
    with listen(str(path), Account.named("daemon")):
        status = os.stat(path)
        assert (status.st_mode & 0o777, status.st_uid) == (0o600, 1)
        assert os.listdir(tmp_path) == ["sock"]


def test_the_peer_is_who_connected(tmp_path: Path) -> None:
    with listen(str(tmp_path / "sock"), Account.current()) as listener, socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as client:
        client.connect(str(tmp_path / "sock"))
        accepted, _ = listener.accept()
        with accepted:
            assert peer_uid(accepted) == os.getuid()
