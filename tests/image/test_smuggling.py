"""The published faults of the peer, and their families, against a running container: none gets anything."""

import socket
from typing import TYPE_CHECKING

import pytest

from tests.attacks import REFUSALS, requests, statuses

if TYPE_CHECKING:
    from tests.image.container import Sandbox

OWN_PORT = 8080
ATTACKS = requests("/v1/sandbox", OWN_PORT)


def send(sandbox: "Sandbox", raw: bytes) -> bytes:
    """Send bytes as they are; everything that comes back until the connection closes."""
    with socket.create_connection((sandbox.name, sandbox.port), 60) as connection:
        connection.sendall(raw)
        received = b""
        while chunk := connection.recv(65536):
            received += chunk
        return received


@pytest.mark.parametrize("name", ATTACKS)
def test_without_a_credential_it_is_refused(sandbox: "Sandbox", name: str) -> None:
    received = send(sandbox, ATTACKS[name])
    assert set(statuses(received)) <= REFUSALS, received
    assert b"home_dir" not in received


def test_the_same_request_with_a_credential_is_answered(sandbox: "Sandbox") -> None:
    """So that the refusals above are about the credential."""
    request = f"GET /v1/sandbox HTTP/1.1\r\nHost: localhost\r\nX-AIO-API-Key: {sandbox.api_key}\r\nConnection: close\r\n\r\n"
    received = send(sandbox, request.encode())
    assert statuses(received) == [200]
    assert b"home_dir" in received
