"""Whose turn it is in an editor."""

import pytest

from sandbox_server.core.control import ALL_REACHES, Holding
from tests.features.auth.conftest import KEY, Gate, set_by

pytestmark = pytest.mark.anyio

HTML = "text/html,*/*"
HELD = Holding(2, "human", "ann", frozenset({"shell"}))


@pytest.mark.parametrize(
    ("uri", "method", "headers"),
    [
        ("/jupyter/api/kernels", "POST", {}),
        ("/jupyter/api/kernels/1/channels", "GET", {"x_original_upgrade": "websocket"}),
        ("/code-server/", "GET", {"x_original_upgrade": "websocket"}),
        ("/proxy/8888/jupyter/api/terminals", "POST", {}),
        ("/absproxy/8200/", "GET", {"x_original_upgrade": "websocket"}),
        ("/", "POST", {"x_original_port": "8888"}),
    ],
)
async def test_a_program_runs_nothing_in_an_editor_while_a_person_has_the_shells(
    gate: Gate, uri: str, method: str, headers: dict[str, str]
) -> None:
    key = {"x_aio_api_key": KEY}
    assert (await gate.ask(uri, method, **key, **headers)).status == 200
    gate.holding = HELD
    refused = await gate.ask(uri, method, **key, **headers)
    assert (refused.status, refused.headers["X-Sandbox-Held"]) == (403, "held")
    gate.holding = Holding(3, "human", "ann", frozenset({"gui", "cdp"}))
    assert (await gate.ask(uri, method, **key, **headers)).status == 200, "the shells are nobody's"


@pytest.mark.parametrize("uri", ["/jupyter/api/kernels", "/proxy/8888/jupyter/lab", "/code-server/", "/proxy/3000/"])
async def test_a_program_goes_on_looking(gate: Gate, uri: str) -> None:
    gate.holding = HELD
    assert (await gate.ask(uri, x_aio_api_key=KEY)).status == 200


async def test_a_previewed_program_of_the_agents_takes_what_it_is_sent(gate: Gate) -> None:
    gate.holding = HELD
    assert (await gate.ask("/proxy/3000/form", "POST", x_aio_api_key=KEY)).status == 200


async def test_a_person_has_the_same_name_in_an_editor_and_passes_and_nobody_else(gate: Gate) -> None:
    ann, bob = await gate.cookie(), await gate.cookie()
    gate.holding = Holding(2, "human", (await gate.ask("/", cookie=ann)).headers["X-Sandbox-Caller"], frozenset({"shell"}))
    for cookie, status in ((ann, 200), (bob, 403)):
        there = await in_the_editor(gate, cookie)
        asked = await gate.ask("/jupyter/api/kernels", "POST", x_original_port="8888", cookie=there, origin="http://box:8080")
        assert asked.status == status


async def test_a_ticket_for_a_person_does_not_pass_for_the_one_who_holds_the_shells(gate: Gate) -> None:
    gate.holding = HELD
    ticket = await gate.ticket({"path_prefix": "/proxy/8888", "actor": "person"})
    asked = await gate.ask(f"/proxy/8888/jupyter/api/kernels?ticket={ticket}", "POST")
    assert (asked.status, asked.headers["X-Sandbox-Held"]) == (403, "held")


async def test_frozen_nobody_runs_anything(gate: Gate) -> None:
    gate.holding = Holding(2, "frozen", None, ALL_REACHES)
    ticket = await gate.ticket({"path_prefix": "/proxy/8888", "actor": "person"})
    asked = await gate.ask(f"/proxy/8888/jupyter/api/kernels?ticket={ticket}", "POST", x_original_port="8888")
    assert (asked.status, asked.headers["X-Sandbox-Held"]) == (403, "held")


async def in_the_editor(gate: Gate, cookie: str) -> str:
    """The cookie that a signed-in browser gets at the editor's own address."""
    led = await gate.ask("/proxy/8888/", host="localhost:8080", accept=HTML, cookie=cookie)
    ticket = led.headers["X-Sandbox-Redirect"].partition("?ticket=")[2]
    return set_by(await gate.ask(f"/?ticket={ticket}", x_original_port="8888", host="8888-preview.localhost:8080", accept=HTML))
