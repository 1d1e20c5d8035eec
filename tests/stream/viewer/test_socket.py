"""The connection of one viewer: the transport has all that the viewer uses of it."""

import inspect

import pytest

from sandbox_server.stream.transport.viewer_transport import ViewerTransport
from sandbox_server.stream.viewer.socket import ViewerSocket

USED = [name for name in vars(ViewerSocket) if not name.startswith("_")]


@pytest.mark.parametrize("name", USED)
def test_the_transport_has_what_a_viewer_uses(name: str) -> None:
    used, had = getattr(ViewerSocket, name), getattr(ViewerTransport, name)
    assert type(used) is type(had)
    if inspect.isfunction(used):
        assert inspect.iscoroutinefunction(used) == inspect.iscoroutinefunction(had)
        assert list(inspect.signature(used).parameters) == list(inspect.signature(had).parameters)


def test_a_viewer_uses_something_of_it() -> None:
    assert {"send", "receive"} <= set(USED)
