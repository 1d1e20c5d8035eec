import os
import socket
import struct
from concurrent.futures import ThreadPoolExecutor
from ipaddress import ip_address

import pytest

from sandbox_server.drivers.egress.socket_owner import SocketOwner, client_of, open_owners, owner

HEADER = struct.Struct("=IHHII")


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


def test_a_connection_of_an_ipv6_socket_to_a_mapped_address_has_its_user() -> None:
    with (
        open_owners() as owners,
        socket.create_server(("127.0.0.1", 0)) as listener,
        socket.socket(socket.AF_INET6, socket.SOCK_STREAM) as client,
    ):
        client.connect(("::ffff:127.0.0.1", listener.getsockname()[1]))
        accepted, _ = listener.accept()
        with accepted:
            found = owner(owners, client_of(accepted), (ip_address("127.0.0.1"), listener.getsockname()[1]))
            assert found == SocketOwner(os.getuid(), os.fstat(client.fileno()).st_ino)


def test_a_socket_that_only_listens_to_its_answer_has_its_user_and_one_that_was_closed_no_inode() -> None:
    with open_owners() as owners, socket.create_server(("127.0.0.1", 0)) as listener:
        destination = ip_address("127.0.0.1"), listener.getsockname()[1]
        client = socket.create_connection(listener.getsockname())
        accepted, _ = listener.accept()
        with accepted:
            inode = os.fstat(client.fileno()).st_ino
            client.shutdown(socket.SHUT_WR)
            assert owner(owners, client_of(accepted), destination) == SocketOwner(os.getuid(), inode)
            place = client_of(accepted)
            client.close()
            found = owner(owners, place, destination)
            assert found is None or found.inode == 0


def test_an_answer_that_comes_late_is_not_taken_for_that_to_another_question() -> None:
    one, other = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    one.settimeout(10)
    place = ip_address("127.0.0.1"), 1
    with one, other, ThreadPoolExecutor() as threads:
        asked = threads.submit(owner, one, place, place)
        number = HEADER.unpack_from(other.recv(4096))[3]
        for said, uid in ((number - 1, 0), (number, 991)):
            answer = HEADER.pack(80, 20, 0, said, 0) + bytes(64) + struct.pack("=II", uid, 7)
            other.send(answer)
        assert asked.result(10) == SocketOwner(991, 7)


def test_a_socket_that_answers_nothing_gives_nobody() -> None:
    one, other = socket.socketpair()
    one.settimeout(0.01)
    with one, other:
        place = ip_address("127.0.0.1"), 1
        assert owner(one, place, place) is None
        other.send(b"\0" * 10)
        assert owner(one, place, place) is None
