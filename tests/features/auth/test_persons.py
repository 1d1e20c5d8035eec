"""Who counts as a person, and who as a program."""

from collections.abc import Callable

import pytest

from tests.features.auth.conftest import KEY, Gate

pytestmark = pytest.mark.anyio

HTML = "text/html,application/xhtml+xml"


async def actor(gate: "Gate", uri: str = "/v1/x", **headers: str) -> str:
    answer = await gate.ask(uri, **headers)
    assert answer.status == 200
    return answer.headers["X-Sandbox-Actor"]


async def test_a_key_and_a_token_are_programs_and_a_signed_in_browser_is_a_person(gate: "Gate", signed: Callable[..., str]) -> None:
    assert await actor(gate, x_aio_api_key=KEY) == "agent"
    assert await actor(gate, authorization=f"Bearer {gate.agent_token}") == "agent"
    assert await actor(gate, authorization=f"Bearer {signed(sub='mia')}") == "agent"
    assert await actor(gate, cookie=await gate.cookie()) == "person"


async def test_an_issuer_may_say_that_a_token_is_a_persons(gate: "Gate", signed: Callable[..., str]) -> None:
    assert await actor(gate, authorization=f"Bearer {signed(sub='mia', actor='person')}") == "person"
    assert await actor(gate, authorization=f"Bearer {signed(sub='mia', actor=['person'])}") == "agent"


async def test_a_ticket_that_opens_no_page_is_a_programs_unless_its_maker_says_so(gate: "Gate") -> None:
    assert await actor(gate, f"/v1/x?ticket={await gate.ticket()}") == "agent"
    assert await actor(gate, f"/v1/x?ticket={await gate.ticket({'actor': 'person'})}") == "person"
    page = await gate.ask(f"/?ticket={await gate.ticket({'actor': 'agent'})}", accept=HTML)
    assert await actor(gate, cookie=page.headers["Set-Cookie"].partition(";")[0]) == "agent"


async def test_who_opens_a_page_with_the_key_is_not_the_program_that_has_it(gate: "Gate") -> None:
    page = await gate.ask(f"/?api_key={KEY.replace(' ', '+')}", accept=HTML)
    answer = await gate.ask("/v1/x", cookie=page.headers["Set-Cookie"].partition(";")[0])
    assert answer.headers["X-Sandbox-Caller"].startswith("key#")


async def test_with_authentication_off_a_browser_is_given_a_name_and_is_a_person(open_gate: "Gate") -> None:
    assert await actor(open_gate) == "agent"
    page = await open_gate.ask("/view", accept=HTML)
    assert (page.status, page.headers["X-Sandbox-Caller"]) == (200, "anyone")
    cookie = page.headers["Set-Cookie"].partition(";")[0]
    answer = await open_gate.ask("/v1/x", cookie=cookie)
    assert answer.headers["X-Sandbox-Caller"].startswith("anyone#")
    assert answer.headers["X-Sandbox-Actor"] == "person"
    assert "Set-Cookie" not in (await open_gate.ask("/view", accept=HTML, cookie=cookie)).headers
