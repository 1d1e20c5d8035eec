"""People sign in, and out."""

import httpx2
import pytest
from tandem_fleet.api.app import build
from tandem_fleet.errors import UnauthorizedError
from tandem_fleet.fleet import Fleet

pytestmark = pytest.mark.anyio


async def test_a_link_leads_to_where_the_page_is(fleet: Fleet) -> None:
    for address, link in (("http://localhost:1", "http://localhost:1/?ticket="), ("", "")):
        transport = httpx2.ASGITransport(app=build(fleet, None, address))
        async with httpx2.AsyncClient(transport=transport, base_url="http://fleet") as http:
            made = await http.post("/v1/tickets", json={"person": "ann"})
            assert made.status_code == 201
            assert made.json()["link"] == (f"{link}{made.json()['ticket']}" if link else "")


@pytest.mark.parametrize("person", ["", "a b", "<b>", "x" * 65, 7, None])
async def test_a_name_that_is_none_is_refused(http: httpx2.AsyncClient, person: object) -> None:
    assert (await http.post("/v1/tickets", json={"person": person})).status_code == 422


async def test_all_are_signed_out_at_once(http: httpx2.AsyncClient, fleet: Fleet) -> None:
    for _ in range(2):
        await fleet.people.begin_session(await fleet.people.make_ticket("default", "ann", ["people"]))
    assert (await http.delete("/v1/sessions")).json() == {"sessions": 2}
    assert (await http.delete("/v1/session")).json() == {"sessions": 0}


async def test_a_signed_in_browser_makes_no_tickets_and_a_ticket_ends_with_the_sessions(http: httpx2.AsyncClient, fleet: Fleet) -> None:
    secret, _ = await fleet.people.begin_session(await fleet.people.make_ticket("default", "ann", ["people"]))
    headers = {"Cookie": f"tandem_session={secret}", "Origin": "http://fleet"}
    assert (await http.post("/v1/tickets", json={"person": "ann"}, headers=headers)).status_code == 403
    ticket = (await http.post("/v1/tickets", json={"person": "ann"})).json()["ticket"]
    await http.delete("/v1/sessions")
    with pytest.raises(UnauthorizedError):
        await fleet.people.begin_session(ticket)
