"""The gateway's question: who may pass, and what goes on."""

import time
from collections.abc import Callable
from pathlib import Path

import pytest

from sandbox_server.core import ALL_SCOPES, Call, Caller, InvalidArgument, PermissionDenied
from sandbox_server.features.auth.auth import CreateTicket
from sandbox_server.settings import AuthSettings as AuthSettings
from tests.features.auth.conftest import Gate

pytestmark = pytest.mark.anyio

KEY = "correct horse battery staple"
HTML = "text/html,application/xhtml+xml"

# --- credentials


@pytest.mark.parametrize(
    ("uri", "headers"),
    [
        ("/v1/x", {"x_aio_api_key": KEY}),
        ("/v1/x", {"authorization": f"Bearer {KEY}"}),
        ("/v1/x", {"authorization": f"bearer  {KEY}"}),
        ("/v1/x?api_key=correct%20horse+battery%20staple", {}),
    ],
)
async def test_the_api_key_opens_in_its_three_forms(gate: "Gate", uri: str, headers: dict[str, str]) -> None:
    answer = await gate.ask(uri, **headers)
    assert answer.status == 200
    assert answer.headers["X-Sandbox-Caller"] == "key"
    assert answer.headers["X-Sandbox-Scopes"] == " ".join(sorted(ALL_SCOPES))
    assert answer.headers["X-Sandbox-Forward-Uri"] == "/v1/x"
    assert answer.headers["X-Sandbox-Forward-Authorization"] == ""


@pytest.mark.parametrize(
    ("uri", "headers"),
    [
        ("/v1/x", {}),
        ("/v1/x", {"x_aio_api_key": ""}),
        ("/v1/x", {"x_aio_api_key": KEY[:-1]}),
        ("/v1/x", {"x_aio_api_key": f"{KEY} "}),
        ("/v1/x", {"authorization": f"Basic {KEY}"}),
        ("/v1/x", {"authorization": "Bearer"}),
        ("/v1/x", {"authorization": KEY}),
        ("/v1/x?api_key=", {}),
        ("/v1/x?API_KEY=correct%20horse+battery%20staple", {}),
        ("/v1/x", {"cookie": f"sandbox_session={KEY}"}),
        ("/v1/x?x=.js", {}),
        ("/v1/x?/healthz", {}),
        ("/healthz/x", {}),
        ("/healthzx", {}),
        ("/static/home/home.js", {}),
        ("/v1/x", {"x_forwarded_uri": "/healthz"}),
        ("/metrics", {}),
        ("/v1/openapi.json", {}),
    ],
)
async def test_without_a_credential_nothing_passes(gate: "Gate", uri: str, headers: dict[str, str]) -> None:
    answer = await gate.ask(uri, **headers)
    assert answer.status == 401
    assert answer.headers["WWW-Authenticate"].startswith("Bearer")
    assert "X-Sandbox-Caller" not in answer.headers


@pytest.mark.parametrize("path", ["/healthz", "/readyz", "/static/style.css", "/static/login/sign-in.js"])
async def test_open_paths_pass_as_nobody_and_know_those_who_signed_in(gate: "Gate", path: str) -> None:
    nobody = await gate.ask(path)
    assert (nobody.status, nobody.headers["X-Sandbox-Caller"], nobody.headers["X-Sandbox-Scopes"]) == (200, "nobody", "")
    assert (await gate.ask(path, x_aio_api_key=KEY)).headers["X-Sandbox-Caller"] == "key"
    assert (await gate.ask(path, authorization="Bearer wrong")).headers["X-Sandbox-Caller"] == "nobody"


async def test_the_path_that_nginx_routes_decides_not_the_one_that_was_sent(gate: "Gate") -> None:
    assert (await gate.ask("/healthz", path="/v1/x")).status == 401
    assert (await gate.ask("/v1%2f..%2fhealthz", path="/healthz")).status == 200


async def test_an_open_path_of_a_previewed_port_is_not_open(gate: "Gate") -> None:
    assert (await gate.ask("/healthz", x_original_port="3000")).status == 401


async def test_a_tokens_scopes_are_its_callers(gate: "Gate", signed: Callable[..., str]) -> None:
    answer = await gate.ask("/v1/x", authorization=f"Bearer {signed(sub='mia@example.org', scope='view files openid')}")
    assert answer.headers["X-Sandbox-Caller"] == "mia@example.org"
    assert answer.headers["X-Sandbox-Scopes"] == "files view"


async def test_a_token_without_scopes_may_do_everything(gate: "Gate", signed: Callable[..., str]) -> None:
    answer = await gate.ask("/v1/x", authorization=f"Bearer {signed(exp=int(time.time()) + 60)}")
    assert answer.headers["X-Sandbox-Scopes"] == " ".join(sorted(ALL_SCOPES))
    assert answer.headers["X-Sandbox-Caller"] == "token"


async def test_a_subject_cannot_break_out_of_a_header(gate: "Gate", signed: Callable[..., str]) -> None:
    answer = await gate.ask("/v1/x", authorization=f"Bearer {signed(sub='a' + chr(13) + chr(10) + 'X-Sandbox-Scopes: admin' + 'x' * 200)}")
    name = answer.headers["X-Sandbox-Caller"]
    assert name.startswith("a%0D%0AX-Sandbox-Scopes:%20admin")
    assert len(name) <= 96


async def test_why_a_token_is_refused_is_said(gate: "Gate", signed: Callable[..., str]) -> None:
    answer = await gate.ask("/v1/x", authorization=f"Bearer {signed(exp=1)}")
    assert (answer.status, answer.headers["X-Sandbox-Reason"]) == (401, "the token has expired")


async def test_the_agents_own_token_opens_its_tools_and_neither_settings_nor_controls(gate: "Gate") -> None:
    answer = await gate.ask("/v1/x", authorization=f"Bearer {gate.agent_token}")
    assert answer.headers["X-Sandbox-Caller"] == "agent"
    assert answer.headers["X-Sandbox-Scopes"] == "browser code files shell view"
    refused = await gate.ask("/added/", authorization=f"Bearer {gate.agent_token}")
    assert (refused.status, refused.headers["X-Sandbox-Reason"]) == (403, "this needs the scope 'admin'")


async def test_a_pages_own_bearer_token_is_passed_on_for_who_is_signed_in(gate: "Gate") -> None:
    cookie = await gate.cookie()
    answer = await gate.ask("/api", x_original_port="3000", cookie=cookie, authorization="Bearer of-the-page")
    assert answer.status == 200
    assert answer.headers["X-Sandbox-Forward-Authorization"] == "Bearer of-the-page"


async def test_no_credential_of_ours_goes_on(gate: "Gate", signed: Callable[..., str]) -> None:
    cookie = await gate.cookie()
    for headers in (
        {"authorization": f"Bearer {KEY}"},
        {"authorization": f"Bearer {signed()}"},
        {"authorization": f"Bearer {KEY}", "x_aio_api_key": KEY},
    ):
        answer = await gate.ask(f"/v1/x?api_key={KEY.replace(' ', '+')}&y=1", cookie=f"a=b; {cookie}", **headers)
        assert answer.headers["X-Sandbox-Forward-Authorization"] == ""
        assert answer.headers["X-Sandbox-Forward-Cookie"] == "a=b"
        assert answer.headers["X-Sandbox-Forward-Uri"] == "/v1/x?y=1"


async def test_another_programs_parameters_go_on(gate: "Gate") -> None:
    answer = await gate.ask("/proxy/3000/?api_key=weather&ticket=42", x_aio_api_key=KEY)
    assert answer.headers["X-Sandbox-Forward-Uri"] == "/proxy/3000/?api_key=weather&ticket=42"


# --- tickets and sessions


async def test_a_ticket_signs_a_browser_in_and_is_used_up(gate: "Gate") -> None:
    ticket = await gate.ticket()
    first = await gate.ask(f"/v1/x?ticket={ticket}")
    assert first.status == 200
    assert first.headers["X-Sandbox-Caller"].startswith("key#")
    cookie = first.headers["Set-Cookie"].partition(";")[0]
    assert (await gate.ask("/static/home/home.js", cookie=cookie)).status == 200
    assert (await gate.ask(f"/v1/x?ticket={ticket}")).status == 401, "the leaked address is worth nothing"
    assert (await gate.ask(f"/v1/x?ticket={ticket}", cookie=cookie)).status == 200, "with its cookie it is only noise"


async def test_a_page_is_reloaded_without_the_ticket_in_its_address(gate: "Gate") -> None:
    uri = f"/vnc/index.html?autoconnect=true&ticket={await gate.ticket()}&path=websockify%3Fticket%3Dx"
    answer = await gate.ask(uri, accept=HTML)
    assert answer.status == 401
    assert answer.headers["X-Sandbox-Redirect"] == "/vnc/index.html?autoconnect=true&path=websockify%3Fticket%3Dx"
    assert "HttpOnly" in answer.headers["Set-Cookie"]
    assert "X-Sandbox-Caller" not in answer.headers


async def test_a_page_that_was_opened_with_the_key_is_reloaded_without_it(gate: "Gate") -> None:
    answer = await gate.ask("/terminal?a=1&api_key=correct+horse+battery+staple", accept=HTML)
    assert answer.headers["X-Sandbox-Redirect"] == "/terminal?a=1"
    cookie = answer.headers["Set-Cookie"].partition(";")[0]
    assert (await gate.ask("/terminal?a=1", cookie=cookie, accept=HTML)).status == 200


@pytest.mark.parametrize("path", ["//evil.example/x", "///evil.example", "/\\evil.example", "/\\/evil.example"])
async def test_a_reload_cannot_lead_to_another_site(gate: "Gate", path: str) -> None:
    answer = await gate.ask(f"{path}?ticket={await gate.ticket()}", path="/evil.example/x", accept=HTML)
    assert answer.headers["X-Sandbox-Redirect"].startswith("/evil.example")


async def test_a_ticket_is_for_its_path_and_so_is_its_cookie(gate: "Gate") -> None:
    ticket = await gate.ticket({"path_prefix": "/proxy/3000"})
    assert (await gate.ask(f"/v1/x?ticket={ticket}")).status == 401
    answer = await gate.ask(f"/proxy/3000/?ticket={ticket}")
    assert "; Path=/proxy/3000;" in answer.headers["Set-Cookie"]
    cookie = answer.headers["Set-Cookie"].partition(";")[0]
    assert (await gate.ask("/proxy/3000/app.js", cookie=cookie)).status == 200
    for path in ("/v1/x", "/proxy/30001/", "/", "/tickets"):
        assert (await gate.ask(path, cookie=cookie)).status == 401, path


async def test_a_ticket_has_the_scopes_it_was_made_with(gate: "Gate") -> None:
    cookie = await gate.cookie(scopes=["view"])
    assert (await gate.ask("/", cookie=cookie)).headers["X-Sandbox-Scopes"] == "view"
    assert (await gate.ask("/terminal", cookie=cookie)).status == 403
    assert (await gate.ask("/proxy/3000/", cookie=cookie)).status == 403


async def test_a_ticket_expires_after_its_ttl(gate: "Gate") -> None:
    ticket = await gate.ticket({"ttl": 10})
    gate.seconds += 10
    assert (await gate.ask(f"/v1/x?ticket={ticket}")).status == 401


async def test_a_session_ends(gate: "Gate") -> None:
    cookie = await gate.cookie()
    gate.seconds += 3599
    assert (await gate.ask("/", cookie=cookie)).status == 200
    gate.seconds += 1
    assert (await gate.ask("/", cookie=cookie)).status == 401


async def test_a_session_never_outlives_the_token_behind_its_ticket(gate: "Gate") -> None:
    answer = await gate.ask(f"/v1/x?ticket={await gate.ticket(expires=gate.seconds + 60)}")
    assert "Max-Age=60;" in answer.headers["Set-Cookie"]
    assert answer.headers["X-Sandbox-Expires"] == f"{gate.seconds + 60:.0f}"
    cookie = answer.headers["Set-Cookie"].partition(";")[0]
    gate.seconds += 60
    assert (await gate.ask("/", cookie=cookie)).status == 401


async def test_sessions_and_tickets_outlive_the_api_process(gate: "Gate") -> None:
    cookie, ticket = await gate.cookie(), await gate.ticket()
    gate.restarted()
    assert (await gate.ask("/", cookie=cookie)).status == 200
    assert (await gate.ask(f"/v1/x?ticket={ticket}")).status == 200


@pytest.mark.parametrize(
    "cookie", ["sandbox_session=", "sandbox_session=.", "sandbox_session=e30=.x", "sandbox_session_8080=a.b.c", ";;=;"]
)
async def test_a_made_up_cookie_is_nothing(gate: "Gate", cookie: str) -> None:
    assert (await gate.ask("/", cookie=cookie)).status == 401


async def test_a_cookie_of_another_sandbox_does_not_hide_ours(gate: "Gate") -> None:
    assert (await gate.ask("/", cookie=f"sandbox_session_9090=e30=.x; {await gate.cookie()}")).status == 200


async def test_signing_out_removes_the_cookie_that_signing_in_set(gate: "Gate") -> None:
    answer = await gate.auth.sign_out(Call(Caller("key"), "1", headers={"host": "box:8080"}))
    assert answer.status == 204
    assert answer.headers["Set-Cookie"].startswith("sandbox_session_8080=; Path=/; Max-Age=0;")
    assert (await gate.cookie()).startswith("sandbox_session_8080=")


async def test_a_caller_cannot_give_what_it_does_not_have(gate: "Gate") -> None:
    with pytest.raises(PermissionDenied, match="'admin'"):
        await gate.auth.create_ticket(CreateTicket(scopes=["view", "admin"]), Call(Caller("mia", frozenset({"view"})), "1"))


@pytest.mark.parametrize(
    ("field", "value"), [("path_prefix", "/a/../b"), ("path_prefix", "x"), ("path_prefix", "/a;b"), ("ttl", 0), ("ttl", 3601), ("ttl", -1)]
)
async def test_a_ticket_that_makes_no_sense_is_refused(gate: "Gate", field: str, value: object) -> None:
    with pytest.raises(InvalidArgument):
        await gate.ticket({field: value})


async def test_a_session_bound_to_a_path_makes_no_tickets(gate: "Gate") -> None:
    ticket = await gate.ticket({"path_prefix": "/tickets"})
    assert (await gate.ask(f"/tickets?ticket={ticket}", "POST")).status == 403


# --- other sites


async def test_another_site_cannot_use_a_persons_cookie(gate: "Gate") -> None:
    cookie = await gate.cookie()
    for headers in ({"origin": "http://evil.example"}, {"sec_fetch_site": "cross-site"}, {}):
        answer = await gate.ask("/v1/shell/exec", "POST", cookie=cookie, **headers)
        assert answer.status == 403
    assert (await gate.ask("/v1/shell/exec", "POST", cookie=cookie, origin="http://box:8080")).status == 200


async def test_another_site_cannot_open_a_socket_with_a_persons_cookie(gate: "Gate") -> None:
    cookie = await gate.cookie()
    for headers in ({"origin": "http://evil.example"}, {}):
        assert (await gate.ask("/v1/shell/ws", cookie=cookie, x_original_upgrade="websocket", **headers)).status == 403
    assert (await gate.ask("/v1/shell/ws", cookie=cookie, x_original_upgrade="websocket", origin="http://box:8080")).status == 200


async def test_a_credential_that_no_browser_adds_by_itself_works_from_anywhere(gate: "Gate") -> None:
    assert (await gate.ask("/v1/x", "POST", x_aio_api_key=KEY, origin="http://elsewhere")).status == 200
    assert (
        await gate.ask(f"/v1/shell/ws?ticket={await gate.ticket()}", x_original_upgrade="websocket", origin="http://elsewhere")
    ).status == 200


async def test_with_authentication_off_everyone_passes_except_other_sites_through_a_browser(open_gate: "Gate") -> None:
    answer = await open_gate.ask("/v1/shell/exec", "POST")
    assert (answer.status, answer.headers["X-Sandbox-Caller"]) == (200, "anyone")
    assert (await open_gate.ask("/v1/shell/exec", "POST", origin="http://evil.example")).status == 403
    assert (await open_gate.ask("/v1/shell/ws", x_original_upgrade="websocket", origin="http://evil.example")).status == 403


# --- previews


async def test_a_preview_needs_the_scope_code_and_says_where_to_connect(gate: "Gate", signed: Callable[..., str]) -> None:
    for headers in ({"uri": "/proxy/3000/x"}, {"uri": "/absproxy/3000/"}, {"uri": "/x", "x_original_port": "3000"}):
        assert (await gate.ask(**headers, authorization=f"Bearer {signed(scope='code')}")).headers["X-Sandbox-Upstream"] == "127.0.0.1:3000"
        assert (await gate.ask(**headers, authorization=f"Bearer {signed(scope='view shell')}")).status == 403


async def test_a_signed_in_browser_sees_a_preview_on_a_host_of_its_own(gate: "Gate") -> None:
    answer = await gate.ask("/proxy/3000/a?b=1", host="localhost:8080", accept=HTML, cookie=await gate.cookie())
    address, _, ticket = answer.headers["X-Sandbox-Redirect"].partition("&ticket=")
    assert (answer.status, address) == (401, "http://3000-preview.localhost:8080/a?b=1")
    assert "Set-Cookie" not in answer.headers
    there = await gate.ask(f"/a?b=1&ticket={ticket}", x_original_port="3000", host="3000-preview.localhost:8080", accept=HTML)
    assert there.headers["X-Sandbox-Redirect"] == "/a?b=1"
    cookie = there.headers["Set-Cookie"].partition(";")[0]
    seen = await gate.ask("/a?b=1", x_original_port="3000", host="3000-preview.localhost:8080", accept=HTML, cookie=cookie)
    assert (seen.status, seen.headers["X-Sandbox-Scopes"]) == (200, "code")


@pytest.mark.parametrize("credential", ["ticket", "api_key"])
async def test_so_does_one_that_would_be_signed_in_by_its_address(gate: "Gate", credential: str) -> None:
    value = await gate.ticket() if credential == "ticket" else KEY.replace(" ", "+")
    answer = await gate.ask(f"/proxy/3000/?{credential}={value}", host="127.0.0.1:8080", accept=HTML)
    assert answer.headers["X-Sandbox-Redirect"].startswith("http://3000-preview.localhost:8080/?ticket=tk-")
    assert "Set-Cookie" not in answer.headers


async def test_the_domain_of_previews_can_be_set(tmp_path: Path) -> None:
    gate = Gate(tmp_path, AuthSettings(preview_domain="preview.example.org"))
    cookie = await gate.secure_cookie()
    answer = await gate.ask("/absproxy/3000/a", host="box.example.org", x_forwarded_proto="https", accept=HTML, cookie=cookie)
    assert answer.headers["X-Sandbox-Redirect"].startswith("https://3000-preview.example.org/absproxy/3000/a?ticket=tk-")


async def test_without_a_host_of_its_own_a_preview_is_refused_to_a_signed_in_browser(gate: "Gate") -> None:
    cookie = await gate.cookie()
    socket = {"x_original_upgrade": "websocket", "origin": "http://box:8080"}
    for headers in ({"accept": HTML}, {}, socket, {"accept": HTML, "host": "no.localhost"}):
        answer = await gate.ask("/proxy/3000/", cookie=cookie, **headers)
        assert answer.status == 403, headers
        assert "PREVIEW_DOMAIN" in answer.headers["X-Sandbox-Reason"]


async def test_what_a_page_loads_does_not_follow_it_to_the_signed_in_origin(gate: "Gate") -> None:
    answer = await gate.ask("/proxy/3000/app.js", host="localhost:8080", cookie=await gate.cookie())
    assert (answer.status, "X-Sandbox-Redirect" in answer.headers) == (403, False)


async def test_a_program_may_have_its_key_in_the_address_of_a_preview(gate: "Gate") -> None:
    answer = await gate.ask(f"/proxy/3000/?api_key={KEY.replace(' ', '+')}")
    assert (answer.status, "Set-Cookie" in answer.headers) == (200, False)


async def test_a_ticket_for_a_preview_is_worth_nothing_beside_a_wider_session(gate: "Gate") -> None:
    wide, narrow = await gate.cookie(), await gate.ticket({"path_prefix": "/proxy/3000"})
    answer = await gate.ask(f"/proxy/3000/?ticket={narrow}")
    cookie = answer.headers["Set-Cookie"].partition(";")[0]
    assert (await gate.ask("/proxy/3000/", cookie=cookie)).status == 200
    assert (await gate.ask("/proxy/3000/", cookie=f"{cookie}; {wide}")).status == 403


@pytest.mark.parametrize("headers", [{"uri": "/proxy/8091/"}, {"uri": "/", "x_original_port": "8091"}, {"uri": "/proxy/08080/"}])
async def test_the_sandboxs_own_ports_are_no_previews_not_even_for_the_key(gate: "Gate", headers: dict[str, str]) -> None:
    answer = await gate.ask(**headers, x_aio_api_key=KEY)
    assert answer.status == 403
    assert "belongs to the sandbox itself" in answer.headers["X-Sandbox-Reason"]


@pytest.mark.parametrize("port", ["0", "65536", "99999"])
async def test_a_number_that_is_no_port_is_refused(gate: "Gate", port: str) -> None:
    assert (await gate.ask(f"/proxy/{port}/", x_aio_api_key=KEY)).status == 403


# --- the contract's own use


async def test_asked_through_the_gateway_it_names_the_caller(gate: "Gate") -> None:
    call = Call(Caller("mia", frozenset({"view"})), "1", headers={"x-sandbox-caller": "mia"})
    assert (await gate.auth.authenticate_request(call)).data == {"caller": "mia", "scopes": "view"}


async def test_a_ticket_says_how_long_it_can_be_used(gate: "Gate") -> None:
    made = await gate.auth.create_ticket(CreateTicket(), Call(Caller("key"), "1"))
    assert made.expires_in == 30
    assert made.ticket.startswith("tk-")
