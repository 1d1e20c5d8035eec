"""Share links at the gateway's question: one port, for a time, and nothing else."""

import hashlib

import pytest

from sandbox_server.drivers.credentials.grants import Grant
from tests.features.auth.conftest import EDITORS, Gate, set_by

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
        assert (refused.status, refused.headers["X-Sandbox-Reason"]) == (403, "this link allows only port 3000")


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


@pytest.mark.parametrize("port", sorted(EDITORS))
async def test_a_share_link_shows_no_editor_even_one_made_before_it_was_there(gate: Gate, port: int) -> None:
    """The operation makes none; here one is in force all the same, and with it a session."""
    share, token = gate.shares.create(port, 600, caller="key")
    for uri in (f"/proxy/{port}/", f"/absproxy/{port}/jupyter/lab"):
        refused = await gate.ask(f"{uri}?share={token}", accept=HTML)
        assert (refused.status, "Set-Cookie" in refused.headers) == (403, False)
    grant = Grant(f"share-{share.id}", frozenset({"code"}), expires=gate.seconds + 60, port=port, share=share.id)
    cookie = await gate.cookie(scopes=["code"])
    assert (await gate.ask("/", x_original_port=str(port), cookie=cookie)).status == 200, "who is signed in sees it"
    ticket = gate.tickets.create(grant, 60)
    assert (await gate.ask(f"/?ticket={ticket}", x_original_port=str(port), accept=HTML)).status == 403


@pytest.mark.parametrize(
    ("uri", "headers"),
    [
        ("/proxy/3001/", {}),
        ("/absproxy/3001/", {}),
        ("/proxy/03000/../3001/", {"path": "/proxy/3001/"}),
        ("/", {"x_original_port": "3001"}),
        ("/proxy/3000/", {"x_original_port": "3001"}),
        ("/jupyter/", {}),
        ("/code-server/", {}),
        ("/tickets", {}),
        ("/v1/ports/3000/share", {}),
        ("/v1/session", {}),
        ("/healthz/x", {}),
        ("/websockify", {"x_original_upgrade": "websocket"}),
        ("/proxy/3001/ws", {"x_original_upgrade": "websocket"}),
        ("/auth", {}),
    ],
)
async def test_neither_a_share_links_token_nor_its_cookie_opens_anything_else(gate: Gate, uri: str, headers: dict[str, str]) -> None:
    _, token = shared_with(gate)
    by_path = set_by(await gate.ask(f"/proxy/3000/?share={token}"))
    by_host = set_by(await gate.ask(f"/?share={token}", x_original_port="3000"))
    for asked in ({"uri": f"{uri}?share={token}"}, {"uri": uri, "cookie": by_path}, {"uri": uri, "cookie": by_host}):
        answer = await gate.ask(**asked, **headers, sec_fetch_site="same-origin")
        assert answer.status in (401, 403), asked


async def test_a_share_link_upgrades_on_its_port_alone_and_not_from_another_site(gate: Gate) -> None:
    _, token = shared_with(gate)
    cookie = set_by(await gate.ask(f"/proxy/3000/?share={token}"))
    socket = {"x_original_upgrade": "websocket", "cookie": cookie}
    assert (await gate.ask("/proxy/3000/ws", **socket, origin="http://box:8080")).status == 200
    assert (await gate.ask("/proxy/3000/ws", **socket, origin="http://evil.example")).status == 403
    assert (await gate.ask("/proxy/3001/ws", **socket, origin="http://box:8080")).status == 401


async def test_a_share_links_token_is_not_guessed_nor_made_of_its_id_or_hash(gate: Gate) -> None:
    share_id, token = shared_with(gate)
    digest = hashlib.sha256(token.encode()).hexdigest()
    for guess in (share_id, f"sh-{share_id}", digest, f"sh-{digest[:43]}", token[:-1], f"{token}A", token.upper(), f"sh-{'A' * 43}"):
        assert (await gate.ask(f"/proxy/3000/?share={guess}")).status == 401, guess
    assert (await gate.ask(f"/proxy/3000/?share=x&share={token}")).status == 200
    assert len(token) == 46, "256 bits of the operating system's"


async def test_what_came_of_a_share_link_makes_no_tickets(gate: Gate) -> None:
    _, token = shared_with(gate)
    cookie = set_by(await gate.ask(f"/?share={token}", x_original_port="3000"))
    assert (await gate.ask("/tickets", "POST", cookie=cookie, origin="http://box:8080")).status == 403
