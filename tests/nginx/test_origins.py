"""Other sites: closed by default, and open to those that the settings name."""

import json
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from sandbox_server.settings import AuthSettings as AuthSettings
from tests.nginx.conftest import Gateway as Running
from tests.nginx.test_gateway import HTML, KEY, shake_hands, ticket

if TYPE_CHECKING:
    from tests.nginx.conftest import Answer, Gateway

APP = "https://app.example.org"
PREFLIGHT = {"Access-Control-Request-Method": "POST", "Access-Control-Request-Headers": "content-type,x-aio-api-key"}
FOREIGN = [
    "https://evil.example",
    "null",
    "https://app.example.org.evil.example",
    "https://app.example.org:8443",
    "http://app.example.org",
    "*",
    "",
]


@pytest.fixture(scope="module")
def open_to_app() -> Iterator[Running]:
    """A gateway that one other site may use."""
    with tempfile.TemporaryDirectory() as folder:
        running = Running(Path(folder), AuthSettings(origins=(APP,), preview_domain="preview.example.org"))
        running.start()
        yield running
        running.stop()


def cors(answer: "Answer") -> set[str]:
    """The names of the headers with which an answer opens itself to another site."""
    return {name for name in answer.headers if name.lower().startswith("access-control-")}


@pytest.mark.parametrize("origin", [APP, *FOREIGN])
def test_without_a_setting_no_other_site_gets_an_answer_that_it_may_read(gateway: "Gateway", origin: str) -> None:
    for method, headers in (("OPTIONS", PREFLIGHT), ("GET", {}), ("GET", KEY)):
        answer = gateway.ask(method, "/v1/echo", headers | {"Origin": origin})
        assert (cors(answer), answer.headers.get("Vary")) == (set(), None)
    assert gateway.ask("OPTIONS", "/v1/echo", PREFLIGHT | {"Origin": origin}).status == 401


def test_a_named_site_asks_first_without_a_credential_and_then_calls_with_one(open_to_app: "Gateway") -> None:
    asked = open_to_app.ask("OPTIONS", "/v1/echo", PREFLIGHT | {"Origin": APP})
    assert (asked.status, asked.headers["Access-Control-Allow-Origin"], asked.headers["Vary"]) == (204, APP, "Origin")
    assert "POST" in asked.headers["Access-Control-Allow-Methods"]
    assert asked.headers["Access-Control-Allow-Headers"] == "content-type,x-aio-api-key"
    called = open_to_app.ask("POST", "/v1/echo", KEY | {"Origin": APP}, b"{}")
    assert (called.status, called.headers["Access-Control-Allow-Origin"]) == (200, APP)
    assert {"X-Request-Id", "X-Sandbox-Hint"} <= set(called.headers["Access-Control-Expose-Headers"].split(", "))
    refused = open_to_app.ask("POST", "/v1/echo", {"Origin": APP}, b"{}")
    assert (refused.status, refused.headers["Access-Control-Allow-Origin"]) == (401, APP), "so that its page can say why"


@pytest.mark.parametrize("origin", FOREIGN)
def test_a_site_that_is_not_named_gets_nothing_of_it(open_to_app: "Gateway", origin: str) -> None:
    for method, headers in (("OPTIONS", PREFLIGHT), ("GET", KEY)):
        answer = open_to_app.ask(method, "/v1/echo", headers | {"Origin": origin})
        assert (cors(answer), answer.headers["Vary"]) == (set(), "Origin")
    assert open_to_app.ask("OPTIONS", "/v1/echo", PREFLIGHT | {"Origin": origin}).status == 401


def test_a_cookie_is_not_let_through_from_a_named_site_either(open_to_app: "Gateway") -> None:
    cookie = {"Cookie": open_to_app.ask("GET", f"/v1/echo?ticket={ticket(open_to_app)}").headers["Set-Cookie"].partition(";")[0]}
    answer = open_to_app.ask("POST", "/v1/echo", cookie | {"Origin": APP}, b"{}")
    assert answer.status == 403
    assert "Access-Control-Allow-Credentials" not in answer.headers
    status, connection = shake_hands(open_to_app, "/v1/echo/ws", f"Origin: {APP}", f"Cookie: {cookie['Cookie']}")
    connection.close()
    assert status == 403
    status, connection = shake_hands(open_to_app, f"/v1/echo/ws?ticket={ticket(open_to_app)}", f"Origin: {APP}")
    connection.close()
    assert status == 101


@pytest.mark.parametrize("headers", [{"Host": "3000-preview.example.org"}, {"X-AIO-Proxy-Port": "3000"}])
def test_a_previewed_program_speaks_for_itself(open_to_app: "Gateway", headers: dict[str, str]) -> None:
    for path in ("/", "/proxy/3000/", "/absproxy/3000/"):
        asked = open_to_app.ask("OPTIONS", path, PREFLIGHT | {"Origin": APP} | headers)
        assert (asked.status, cors(asked)) == (401, set())
    by_path = open_to_app.ask("OPTIONS", "/proxy/3000/", PREFLIGHT | {"Origin": APP})
    assert (by_path.status, cors(by_path)) == (401, set())


def test_what_is_asked_to_be_sent_is_no_way_into_the_answer(open_to_app: "Gateway") -> None:
    asked = open_to_app.ask(
        "OPTIONS", "/v1/echo", {"Origin": APP, "Access-Control-Request-Method": "POST", "Access-Control-Request-Headers": "a;b=<x>"}
    )
    assert (asked.status, "Access-Control-Allow-Headers" in asked.headers) == (204, False)
    assert open_to_app.ask("OPTIONS", "/v1/echo", {"Origin": APP}).status == 401, "no preflight"


def test_pages_are_framed_by_named_sites_alone(gateway: "Gateway", open_to_app: "Gateway") -> None:
    for asked, ancestors in ((gateway, "frame-ancestors 'self';"), (open_to_app, f"frame-ancestors 'self' {APP};")):
        page = asked.ask("GET", "/vnc/index.html", HTML | KEY)
        assert (page.status, ancestors in page.headers["Content-Security-Policy"]) == (200, True)
        assert "frame-ancestors 'none'" in asked.ask("GET", "/", HTML).headers["Content-Security-Policy"], "nobody frames the sign-in"


def test_a_frame_of_ours_on_a_named_site_stays_signed_in(open_to_app: "Gateway") -> None:
    framed = {"X-Forwarded-Proto": "https", "Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "navigate", "Sec-Fetch-Dest": "iframe"}
    opened = open_to_app.ask("GET", f"/vnc/index.html?ticket={ticket(open_to_app)}&autoconnect=true", HTML | framed)
    assert (opened.status, opened.headers["Location"]) == (302, "/vnc/index.html?autoconnect=true")
    assert opened.headers["Set-Cookie"].startswith("__Host-sandbox_session")
    assert opened.headers["Set-Cookie"].endswith("; SameSite=None; Partitioned; Secure")
    cookie = {"Cookie": opened.headers["Set-Cookie"].partition(";")[0]}
    assert open_to_app.ask("GET", opened.headers["Location"], HTML | framed | cookie).status == 200
    inside = {"X-Forwarded-Proto": "https", "Sec-Fetch-Site": "same-origin"}
    assert open_to_app.ask("POST", "/v1/echo", cookie | inside, b"{}").status == 200


def test_elsewhere_the_cookie_is_not_sent_to_other_sites(gateway: "Gateway", open_to_app: "Gateway") -> None:
    framed = {"X-Forwarded-Proto": "https", "Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "navigate", "Sec-Fetch-Dest": "iframe"}
    closed = gateway.ask("GET", f"/vnc/index.html?ticket={ticket(gateway)}", HTML | framed)
    top = open_to_app.ask("GET", f"/?ticket={ticket(open_to_app)}", HTML | {"X-Forwarded-Proto": "https", "Sec-Fetch-Dest": "document"})
    for answer in (closed, top):
        assert "SameSite=Lax; Secure" in answer.headers["Set-Cookie"]


def test_a_front_end_of_ones_own_gets_a_ticket(open_to_app: "Gateway") -> None:
    made = open_to_app.ask("POST", "/tickets", KEY | {"Origin": APP, "Content-Type": "application/json"}, b"{}")
    assert (made.status, made.headers["Access-Control-Allow-Origin"]) == (200, APP)
    assert json.loads(made.content)["ticket"].startswith("tk-")


def test_a_proxy_that_says_wss_is_one_with_tls(open_to_app: "Gateway") -> None:
    tls = {"X-Forwarded-Proto": "https"}
    cookie = open_to_app.ask("GET", f"/v1/echo?ticket={ticket(open_to_app)}", tls).headers["Set-Cookie"].partition(";")[0]
    wss = ["X-Forwarded-Proto: wss", f"Cookie: {cookie}", "Origin: https://localhost"]
    status, connection = shake_hands(open_to_app, "/v1/echo/ws", *wss)
    connection.close()
    assert status == 101
