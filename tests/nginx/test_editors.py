"""The editors' places in the gateway."""

from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from tests.nginx.conftest import Gateway

KEY = {"X-AIO-API-Key": "the-key-of-the-tests"}
EDITORS = ("code-server.conf", "jupyter.conf")


@pytest.fixture
def gateway_without(gateway: "Gateway", request: pytest.FixtureRequest) -> Iterator["Gateway"]:
    """A gateway without some of the editors' files, as boot leaves it where a setting turns them off."""
    components = gateway.folder / "nginx/components"
    for name in request.param:
        (components / name).rename(gateway.folder / name)
    gateway.kill_nginx()
    gateway.start_nginx()
    yield gateway
    for name in request.param:
        (gateway.folder / name).rename(components / name)
    gateway.kill_nginx()
    gateway.start_nginx()


@pytest.mark.parametrize("gateway_without", [EDITORS, EDITORS[:1], EDITORS[1:]], ids="+".join, indirect=True)
def test_the_gateway_starts_without_editors(gateway_without: "Gateway") -> None:
    assert gateway_without.ask("GET", "/healthz", KEY).status == 200
