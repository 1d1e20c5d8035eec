"""What a ticket may make: nothing as a program, and nothing that outlives it."""

import pytest

from sandbox_server.core import PermissionDenied
from tests.features.auth.conftest import KEY, Gate, set_by

pytestmark = pytest.mark.anyio

HTML = "text/html,*/*"


async def test_a_ticket_makes_no_tickets(gate: Gate) -> None:
    requests: tuple[dict[str, object], ...] = ({}, {"actor": "person"}, {"uses": 100})
    for request in requests:
        refused = await gate.ask(f"/tickets?ticket={await gate.ticket(request)}", "POST")
        assert (refused.status, "a ticket cannot make tickets" in refused.headers["X-Sandbox-Reason"]) == (403, True)
    assert (await gate.ask("/tickets", "POST", x_aio_api_key=KEY)).status == 200


async def test_nothing_that_came_of_a_ticket_outlives_what_it_became(gate: Gate) -> None:
    cookie = await gate.cookie()
    for _ in range(5):
        gate.seconds += 700
        asked = await gate.ask("/tickets", "POST", cookie=cookie, origin="http://box:8080")
        ticket = await gate.bought(asked, ttl=3600, uses=100)
        leaked = await gate.bought(asked, ttl=3600, uses=100)
        cookie = set_by(await gate.ask(f"/v1/x?ticket={ticket}"))
    gate.seconds += 100
    assert (await gate.ask("/v1/x", cookie=cookie)).status == 401
    assert (await gate.ask(f"/v1/x?ticket={leaked}")).status == 401


async def test_a_ticket_says_no_longer_time_than_it_has(gate: Gate) -> None:
    cookie = await gate.cookie()
    gate.seconds += 3590
    asked = await gate.ask("/tickets", "POST", cookie=cookie, origin="http://box:8080")
    leaked = await gate.bought(asked, ttl=3600)
    gate.seconds += 10
    assert (await gate.ask(f"/v1/x?ticket={leaked}")).status == 401


async def test_a_link_to_a_request_ends_with_it_and_so_does_what_came_of_it(gate: Gate) -> None:
    gate.asked.add("h-1")
    link, late = await gate.invitation("h-1"), await gate.invitation("h-1")
    cookie = set_by(await gate.ask(f"/view?ticket={link}", accept=HTML))
    opened = await gate.ask("/view", cookie=cookie)
    assert (opened.status, opened.headers["X-Sandbox-Actor"]) == (200, "person")
    shown_on = await gate.bought(opened, actor="person")
    further = set_by(await gate.ask(f"/view?ticket={await gate.bought(opened)}", accept=HTML))
    assert (await gate.ask("/view", cookie=further)).status == 200
    gate.asked.clear()
    for asked in (gate.ask("/view", cookie=cookie), gate.ask("/view", cookie=further)):
        assert (await asked).status == 401
    for ticket in (late, shown_on):
        assert (await gate.ask(f"/view?ticket={ticket}")).status == 401


async def test_a_made_up_request_opens_nothing(gate: Gate) -> None:
    with pytest.raises(PermissionDenied):
        await gate.bought(await gate.ask("/v1/x", authorization=f"Bearer {gate.agent_token}"), actor="person")
    assert (await gate.ask(f"/view?ticket={await gate.invitation('h-2')}")).status == 401
