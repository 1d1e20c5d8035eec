"""The handshake: `hello` once, and after it what has changed."""

import pytest

from sandbox_server.stream import wire
from sandbox_server.stream.viewer.access import ViewerAccess
from sandbox_server.stream.viewer.handshake import Handshake
from tests.stream.viewers import PERSON, FakeClient, FakeLease

pytestmark = pytest.mark.anyio


class Sent(FakeClient):
    """A client that notes what it is sent."""

    def __init__(self) -> None:
        super().__init__()
        self.messages: list[bytes] = []

    async def send(self, message: bytes) -> None:
        self.messages.append(message)


async def test_the_first_size_comes_with_hello_and_the_next_alone() -> None:
    client = Sent()
    handshake = Handshake(client, ViewerAccess(PERSON, FakeLease(drives=False)), 7)
    assert not handshake.done
    await handshake.announce_size(640, 480)
    await handshake.announce_size(800, 600)
    assert handshake.done
    assert client.messages == [wire.hello(7, wire.MAY_ACT, 640, 480), wire.size(800, 600)]


async def test_rights_are_sent_when_they_have_changed_and_not_before_hello() -> None:
    client, lease = Sent(), FakeLease(drives=False)
    handshake = Handshake(client, ViewerAccess(PERSON, lease), 7)
    await handshake.update_rights()
    assert client.messages == []
    await handshake.announce_size(640, 480)
    await handshake.update_rights()
    lease.set(drives=True)
    for _ in range(2):
        await handshake.update_rights()
    assert client.messages[1:] == [wire.rights(wire.MAY_ACT | wire.DRIVES)]


async def test_who_comes_while_a_person_is_private_is_told_so_before_hello() -> None:
    client, lease = Sent(), FakeLease(drives=False)
    lease.sees = False
    await Handshake(client, ViewerAccess(PERSON, lease), 7).update_rights()
    assert client.messages == [wire.rights(wire.MAY_ACT | wire.HIDDEN)]
