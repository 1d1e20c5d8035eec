"""Routes that an image user adds."""

from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from tests.nginx.conftest import Gateway

KEY = {"X-AIO-API-Key": "the-key-of-the-tests"}
ROUTE = 'location /added/ { return 200 "added for $http_x_sandbox_caller"; }\nlocation ~ \\.js$ { return 200 script; }\n'


@pytest.fixture(scope="module")
def gateway_with_route(gateway: "Gateway") -> Iterator["Gateway"]:
    """A gateway with two files in the two directories."""
    older = gateway.folder / "opt/tiger/run/nginx"
    older.mkdir(parents=True)
    (gateway.drop_ins / "added.conf").write_text(ROUTE)
    (older / "older.conf").write_text("location = /older { return 200 older; }\n")
    gateway.kill_nginx()
    gateway.start_nginx()
    yield gateway
    (gateway.drop_ins / "added.conf").unlink()


def test_an_added_route_answers_and_knows_who_asks(gateway_with_route: "Gateway") -> None:
    assert gateway_with_route.ask("GET", "/added/x", KEY).content == b"added for key"
    assert gateway_with_route.ask("GET", "/older", KEY).content == b"older"


@pytest.mark.parametrize("path", ["/added/", "/added/x.js", "/older", "/v1/x.js", "/added/?x=.js"])
def test_an_added_route_is_behind_the_question(gateway_with_route: "Gateway", path: str) -> None:
    assert gateway_with_route.ask("GET", path).status == 401


def test_an_added_route_needs_the_widest_scope(gateway_with_route: "Gateway") -> None:
    answer = gateway_with_route.ask("GET", "/added/", {"Authorization": f"Bearer {gateway_with_route.agent_token}"})
    assert answer.status == 403


def test_an_added_pattern_takes_no_route_of_ours(gateway_with_route: "Gateway") -> None:
    assert gateway_with_route.ask("GET", "/v1/x.js", KEY).content != b"script"
    assert gateway_with_route.ask("GET", "/static/login/sign-in.js").content != b"script"
