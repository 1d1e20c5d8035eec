"""Who counts as a person, and who as a program."""

from collections.abc import Callable

import pytest

from sandbox_server.core import PermissionDenied
from sandbox_server.features.auth.credentials import KEY_SCOPES
from tests.features.auth.conftest import KEY, Gate, set_by

pytestmark = pytest.mark.anyio

HTML = "text/html,application/xhtml+xml"


async def actor(gate: "Gate", uri: str = "/v1/x", **headers: str) -> str:
    """Whether the caller is a person or an agent. The owner's key is an agent's here: it is no person."""
    told = await told_actor(gate, uri, **headers)
    return "agent" if told == "owner" else told


async def told_actor(gate: "Gate", uri: str = "/v1/x", **headers: str) -> str:
    """What components are told of the caller."""
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


async def test_no_credential_of_a_program_becomes_a_person_by_any_way(gate: "Gate", signed: Callable[..., str]) -> None:
    """Every credential of a program, whatever its scopes, and what can be made of it: tickets of any kind, cookies, and again of those."""
    _, key = gate.agent_keys.create(KEY_SCOPES, 600, caller="owner")
    for bearer in (gate.agent_token, key, signed(sub="mia", scope="view shell code files browser"), signed(sub="mia")):
        first = await gate.ask("/v1/x", authorization=f"Bearer {bearer}")
        with pytest.raises(PermissionDenied, match="left to people"):
            await gate.bought(first, actor="person")
        for made in ({}, {"actor": "agent"}, {"path_prefix": "/v1"}, {"uses": 3}):
            ticket = await gate.bought(first, **made)
            assert await told_actor(gate, f"/v1/x?ticket={ticket}") == "agent"
            cookie = set_by(await gate.ask(f"/v1/x?ticket={await gate.bought(first, **made)}", accept=HTML))
            assert await told_actor(gate, cookie=cookie) == "agent"
            with pytest.raises(PermissionDenied, match="left to people"):
                await gate.bought(await gate.ask("/v1/x", cookie=cookie), actor="person")
            again = await gate.bought(await gate.ask("/v1/x", cookie=cookie))
            assert await told_actor(gate, cookie=set_by(await gate.ask(f"/v1/x?ticket={again}", accept=HTML))) == "agent"


async def test_a_page_that_a_program_s_ticket_opens_is_served_to_the_program(gate: "Gate", signed: Callable[..., str]) -> None:
    first = await gate.ask("/v1/x", authorization=f"Bearer {signed(sub='mia')}")
    page = await gate.ask(f"/view?ticket={await gate.bought(first)}", accept=HTML)
    assert page.headers["X-Sandbox-Redirect"] == "/view"
    shown = await gate.ask("/view", cookie=set_by(page), accept=HTML)
    assert (shown.status, shown.headers["X-Sandbox-Actor"]) == (200, "agent")


async def test_the_owners_key_is_told_from_other_programs_and_a_ticket_for_a_call_is_not_that_key(
    gate: "Gate", signed: Callable[..., str]
) -> None:
    assert await told_actor(gate, authorization=f"Bearer {KEY}") == "owner"
    assert await told_actor(gate, x_aio_api_key=KEY) == "owner"
    assert await told_actor(gate, f"/v1/x?api_key={KEY.replace(' ', '+')}") == "owner"
    assert await told_actor(gate, f"/v1/x?ticket={await gate.ticket()}") == "agent"
    assert await told_actor(gate, authorization=f"Bearer {signed(sub='mia')}") == "agent"


async def test_with_authentication_off_everyone_is_the_owner(open_gate: "Gate") -> None:
    assert await told_actor(open_gate) == "owner"


async def test_the_agents_token_in_a_pages_address_signs_a_program_in(gate: "Gate") -> None:
    page = await gate.ask(f"/?api_key={gate.agent_token}", accept=HTML)
    assert await actor(gate, cookie=set_by(page)) == "agent"
    preview = await gate.ask(f"/proxy/3000/?api_key={gate.agent_token}", host="localhost:8080", accept=HTML)
    ticket = preview.headers["X-Sandbox-Redirect"].partition("?ticket=")[2]
    cookie = set_by(await gate.ask(f"/?ticket={ticket}", x_original_port="3000", accept=HTML))
    assert await actor(gate, "/", x_original_port="3000", cookie=cookie) == "agent"


async def test_who_follows_a_share_link_is_no_person_who_could_hold_anything(gate: "Gate") -> None:
    _, token = gate.shares.create(3000, 600, caller="agent")
    page = await gate.ask(f"/proxy/3000/?share={token}", accept=HTML)
    assert await actor(gate, "/proxy/3000/", cookie=set_by(page)) == "agent"


async def test_who_may_control_makes_persons_and_so_does_a_person(gate: "Gate") -> None:
    watcher = await gate.cookie(scopes=["view"])
    for headers in ({"x_aio_api_key": KEY}, {"cookie": await gate.cookie()}, {"cookie": watcher}):
        maker = await gate.ask("/v1/x", **headers)
        assert await actor(gate, f"/v1/x?ticket={await gate.bought(maker, actor='person')}") == "person"
        page = await gate.ask(f"/?ticket={await gate.bought(maker)}", accept=HTML)
        assert await actor(gate, cookie=set_by(page)) == "person"


@pytest.mark.parametrize("subject", ["key", "agent", "owner", "anyone", "nobody", "token", "share-1", "owner#1f03ac"])
async def test_a_tokens_subject_is_no_name_of_ours(gate: "Gate", signed: Callable[..., str], subject: str) -> None:
    answer = await gate.ask("/v1/x", authorization=f"Bearer {signed(sub=subject)}")
    assert answer.headers["X-Sandbox-Caller"] == {"owner#1f03ac": "owner%231f03ac"}.get(subject, f"token:{subject}")


async def test_with_authentication_off_a_browser_is_given_a_name_and_is_a_person(open_gate: "Gate") -> None:
    assert await actor(open_gate) == "agent"
    page = await open_gate.ask("/view", accept=HTML)
    assert (page.status, page.headers["X-Sandbox-Caller"]) == (200, "anyone")
    cookie = page.headers["Set-Cookie"].partition(";")[0]
    answer = await open_gate.ask("/v1/x", cookie=cookie)
    assert answer.headers["X-Sandbox-Caller"].startswith("anyone#")
    assert answer.headers["X-Sandbox-Actor"] == "person"
    assert "Set-Cookie" not in (await open_gate.ask("/view", accept=HTML, cookie=cookie)).headers
