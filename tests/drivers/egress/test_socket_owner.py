import os
import socket
from ipaddress import ip_address

import pytest

from sandbox_server.drivers.egress.socket_owner import SocketOwner, client_of, open_owners, owner


@pytest.mark.parametrize("address", ["127.0.0.1", "127.0.9.9"])
def test_a_connection_has_the_user_who_made_it(address: str) -> None:
    with (
        open_owners() as owners,
        socket.create_server((address, 0)) as listener,
        socket.create_connection(listener.getsockname()) as client,
    ):
        accepted, _ = listener.accept()
        with accepted:
            destination = ip_address(address), listener.getsockname()[1]
            found = owner(owners, client_of(accepted), destination)
            assert found == SocketOwner(os.getuid(), os.fstat(client.fileno()).st_ino)
            assert owner(owners, (client_of(accepted)[0], 1), destination) is None


def test_a_connection_of_another_user_has_that() -> None:
    with open_owners() as owners, socket.create_server(("127.0.0.1", 0)) as listener:
        pid = os.fork()
        if pid == 0:
            os.setuid(1000)
            connection = socket.create_connection(listener.getsockname())
            connection.recv(1)
            os._exit(0)
        accepted, _ = listener.accept()
        with accepted:
            found = owner(owners, client_of(accepted), (ip_address("127.0.0.1"), listener.getsockname()[1]))
            assert found
            assert found.uid == 1000
        os.waitpid(pid, 0)


def test_a_socket_that_answers_nothing_gives_nobody() -> None:
    one, other = socket.socketpair()
    one.settimeout(0.01)
    with one, other:
        place = ip_address("127.0.0.1"), 1
        assert owner(one, place, place) is None
        other.send(b"\0" * 10)
        assert owner(one, place, place) is None
