"""Share links at the gateway's question: one port, for a time, and nothing else."""

import pytest

from tests.features.auth.conftest import Gate

pytestmark = pytest.mark.anyio

HTML = "text/html,application/xhtml+xml"


def shared_with(gate: Gate, seconds: float = 600.0) -> tuple[str, str]:
    """A link to port 3000: its id and its token."""
    share, token = gate.shares.create(3000, seconds, caller="key")
    return share.id, token


async def test_a_share_link_opens_its_port_and_nothing_else(gate: Gate) -> None:
    share_id, token = shared_with(gate)
    page = await gate.ask(f"/proxy/3000/a?x=1&share={token}", accept=HTML)
    cookie = page.headers["Set-Cookie"].partition(";")[0]
    assert (page.status, page.headers["X-Sandbox-Redirect"]) == (401, "/proxy/3000/a?x=1")
    assert "Path=/proxy/3000" in page.headers["Set-Cookie"]
    seen = await gate.ask("/proxy/3000/a", cookie=cookie)
    assert (seen.status, seen.headers["X-Sandbox-Caller"], seen.headers["X-Sandbox-Scopes"]) == (200, f"share-{share_id}", "code")
    for uri in ("/v1/code/execute", "/proxy/3001/", "/", "/mcp", "/tickets", "/terminal"):
        assert (await gate.ask(f"{uri}?share={token}")).status == 401, uri
        assert (await gate.ask(uri, cookie=cookie)).status == 401, uri


async def test_a_share_link_works_for_programs_and_more_than_once(gate: Gate) -> None:
    _, token = shared_with(gate)
    for _ in range(2):
        answer = await gate.ask(f"/absproxy/3000/a?share={token}&y=2")
        assert (answer.status, answer.headers["X-Sandbox-Forward-Uri"]) == (200, "/absproxy/3000/a?y=2")


async def test_a_share_links_cookie_of_a_host_of_its_own_is_worth_nothing_elsewhere(gate: Gate) -> None:
    _, token = shared_with(gate)
    page = await gate.ask(f"/a?share={token}", x_original_port="3000", host="3000-preview.localhost:8080", accept=HTML)
    cookie = page.headers["Set-Cookie"].partition(";")[0]
    assert "Path=/;" in page.headers["Set-Cookie"]
    assert (await gate.ask("/b", x_original_port="3000", cookie=cookie)).status == 200
    for uri, port in (("/v1/code/execute", ""), ("/", ""), ("/b", "3001"), ("/proxy/3001/", "")):
        refused = await gate.ask(uri, x_original_port=port, cookie=cookie)
        assert (refused.status, refused.headers["X-Sandbox-Reason"]) == (403, "this link is for port 3000, and for nothing else")


async def test_a_share_link_ends_with_its_time_and_when_it_is_taken_back(gate: Gate) -> None:
    share_id, token = shared_with(gate)
    cookie = (await gate.ask(f"/proxy/3000/?share={token}")).headers["Set-Cookie"].partition(";")[0]
    gate.shares.revoke(share_id)
    assert (await gate.ask("/proxy/3000/", cookie=cookie)).status == 401
    assert (await gate.ask(f"/proxy/3000/?share={token}")).status == 401
    _, token = shared_with(gate, 60)
    cookie = (await gate.ask(f"/proxy/3000/?share={token}")).headers["Set-Cookie"].partition(";")[0]
    gate.seconds += 61
    assert (await gate.ask("/proxy/3000/", cookie=cookie)).status == 401
    assert (await gate.ask(f"/proxy/3000/?share={token}")).status == 401


async def test_who_is_signed_in_follows_a_share_link_to_the_previews_own_host(gate: Gate) -> None:
    share_id, token = shared_with(gate)
    cookie = await gate.cookie()
    answer = await gate.ask(f"/proxy/3000/a?share={token}", host="localhost:8080", accept=HTML, cookie=cookie)
    address, _, ticket = answer.headers["X-Sandbox-Redirect"].partition("?ticket=")
    assert address == "http://3000-preview.localhost:8080/a"
    gate.shares.revoke(share_id)
    assert (await gate.ask(f"/a?ticket={ticket}", x_original_port="3000")).status == 401


async def test_a_previews_own_ticket_is_worth_nothing_at_the_sandbox_itself(gate: Gate) -> None:
    cookie = await gate.cookie()
    answer = await gate.ask("/proxy/3000/", host="localhost:8080", accept=HTML, cookie=cookie)
    ticket = answer.headers["X-Sandbox-Redirect"].partition("?ticket=")[2]
    assert (await gate.ask(f"/v1/code/execute?ticket={ticket}", "POST")).status == 403
