"""What a redirected connection says is tested in a real namespace: tests/egress/test_box_network.py."""

import socket

import pytest

from sandbox_server.egress.original_destination import original_destination


def test_a_connection_that_nobody_redirected_has_its_own_destination_or_none() -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener, socket.create_connection(listener.getsockname()):
        accepted, _ = listener.accept()
        with accepted:
            try:
                address, port = original_destination(accepted)
            except OSError:
                return
            assert (str(address), port) == listener.getsockname()


def test_a_socket_of_another_family_has_none() -> None:
    one, other = socket.socketpair()
    with one, other, pytest.raises(OSError, match=r"supported|available|Protocol"):
        original_destination(one)
