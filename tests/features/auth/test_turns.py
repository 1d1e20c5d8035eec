"""Whose turn it is in an editor."""

import pytest

from sandbox_server.core.control import ALL_REACHES, Holding
from tests.features.auth.conftest import KEY, Gate

pytestmark = pytest.mark.anyio

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


async def test_a_person_has_another_name_in_an_editor_and_passes(gate: Gate) -> None:
    gate.holding = HELD
    ticket = await gate.ticket({"path_prefix": "/proxy/8888", "actor": "person"})
    asked = await gate.ask(f"/proxy/8888/jupyter/api/kernels?ticket={ticket}", "POST", x_original_port="8888")
    assert asked.status == 200


async def test_frozen_nobody_runs_anything(gate: Gate) -> None:
    gate.holding = Holding(2, "frozen", None, ALL_REACHES)
    ticket = await gate.ticket({"path_prefix": "/proxy/8888", "actor": "person"})
    asked = await gate.ask(f"/proxy/8888/jupyter/api/kernels?ticket={ticket}", "POST", x_original_port="8888")
    assert (asked.status, asked.headers["X-Sandbox-Held"]) == (403, "held")
