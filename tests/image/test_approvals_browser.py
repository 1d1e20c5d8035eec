"""Approvals of what the browser does, from outside: a page, sent data and a file wait for a person; Chromium and the server are real."""

import json
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any

import httpx
import pytest

from tests.cdp.conftest import Session
from tests.image.container import Sandbox
from tests.image.sockets import connect
from tests.image.test_control import Person
from tests.patience import PATIENCE_SECONDS, until

RULES = [
    {"name": "bank", "subject": "navigation", "match": {"host": "127.0.0.2"}},
    {"name": "orders", "subject": "submit", "match": {"host": "127.0.0.3"}},
    {"name": "programs", "subject": "download", "match": {"file": "*.exe"}},
]
SERVER = '''
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
FORM = b"""<title>shop</title><form method=post action="http://127.0.0.3:8123/order">
<input name=what value=tea><button>Order</button></form>"""
class Pages(BaseHTTPRequestHandler):
    def do_GET(self):
        with open("/tmp/seen", "a") as seen: seen.write(f"GET {self.headers['Host']} {self.path}\\n")
        self.send_response(200)
        if self.path.endswith("/tool.exe"): self.send_header("Content-Disposition", "attachment; filename=tool.exe")
        else: self.send_header("Content-Type", "text/html")
        self.end_headers()
        self.wfile.write(b"program" if self.path.endswith("/tool.exe") else FORM)
    def do_POST(self):
        body = self.rfile.read(int(self.headers["Content-Length"])).decode()
        with open("/tmp/seen", "a") as seen: seen.write(f"POST {self.headers['Host']} {self.path} {body}\\n")
        self.send_response(200); self.send_header("Content-Type", "text/html"); self.end_headers()
        self.wfile.write(b"<title>ordered</title>")
    def log_message(self, *_): pass
ThreadingHTTPServer(("", 8123), Pages).serve_forever()
'''


@pytest.fixture(scope="module")
def owned(sandbox_with: Callable[..., Sandbox]) -> Sandbox:
    """A container whose owner has made rules, with a server in its box."""
    sandbox = sandbox_with(env={"APPROVALS": json.dumps({"rules": RULES}), "APPROVAL_SECONDS": "60"})
    assert sandbox.request("POST", "/v1/file/write", json={"file": "/tmp/pages.py", "content": SERVER}).status_code == 200
    sandbox.request("POST", "/v1/bash/exec", json={"command": "python3 /tmp/pages.py", "async_mode": True})
    until(lambda: sandbox.run("curl", "-s", "http://127.0.0.1:8123/ready").code == 0)
    return sandbox


@pytest.fixture
def person(owned: Sandbox) -> Person:
    return Person(owned)


@pytest.fixture
def running() -> Iterator[ThreadPoolExecutor]:
    with ThreadPoolExecutor(4) as pool:
        yield pool


def asked(person: Person) -> list[dict[str, Any]]:
    return [each for each in person.ask("GET", "/v1/handoffs").json()["data"] if each["kind"] == "approve"]


def answer(person: Person, outcome: str, subject: str) -> dict[str, Any]:
    """Answer the one open question, and return what it shows."""
    until(lambda: asked(person))
    [question] = asked(person)
    assert question["approval"]["subject"] == subject
    person.ask("POST", f"/v1/handoffs/{question['id']}/answer", json={"outcome": outcome}).raise_for_status()
    details: dict[str, Any] = question["approval"]["details"]
    return details


def seen(owned: Sandbox, of: str) -> list[str]:
    """The requests that came to the server, of those to one host."""
    return [line for line in owned.run("cat", "/tmp/seen").stdout.splitlines() if of in line]


def going(owned: Sandbox, running: ThreadPoolExecutor, url: str) -> Future[httpx.Response]:
    return running.submit(owned.request, "POST", "/v1/browser/page/navigate", json={"url": url})


def click(owned: Sandbox, running: ThreadPoolExecutor, selector: str) -> Future[httpx.Response]:
    return running.submit(owned.request, "POST", "/v1/browser/page/click", json={"selector": selector})


def titles(owned: Sandbox) -> list[str]:
    return [tab["title"] for tab in owned.request("GET", "/v1/browser/tabs").json()["data"]]


def download_of(owned: Sandbox, url: str) -> dict[str, Any]:
    """The download of an address; one that has not begun yet is in progress."""
    found: list[dict[str, Any]] = owned.request("GET", "/v1/browser/downloads").json()["data"]
    return next((each for each in found if each["url"] == url), {"state": "in_progress"})


def test_a_page_waits_for_a_person_and_opens(owned: Sandbox, person: Person, running: ThreadPoolExecutor) -> None:
    page = going(owned, running, "http://127.0.0.2:8123/account")
    until(lambda: asked(person))
    assert seen(owned, "127.0.0.2") == []
    details = answer(person, "once", "navigation")
    assert (details["host"], details["url"]) == ("127.0.0.2", "http://127.0.0.2:8123/account")
    assert page.result(PATIENCE_SECONDS).status_code == 200
    assert "GET 127.0.0.2:8123 /account" in seen(owned, "127.0.0.2")


def test_a_page_that_a_person_denies_is_never_asked_for(owned: Sandbox, person: Person, running: ThreadPoolExecutor) -> None:
    page = going(owned, running, "http://127.0.0.2:8123/denied")
    answer(person, "deny", "navigation")
    refused = page.result(PATIENCE_SECONDS)
    assert (refused.status_code, "denied this" in refused.text) == (403, True), refused.text
    assert not any("/denied" in line for line in seen(owned, "127.0.0.2"))


def test_a_form_sends_nothing_until_a_person_allows_it(owned: Sandbox, person: Person, running: ThreadPoolExecutor) -> None:
    assert going(owned, running, "http://127.0.0.1:8123/shop").result(PATIENCE_SECONDS).status_code == 200
    click(owned, running, "button")
    until(lambda: asked(person))
    assert seen(owned, "POST") == []
    shown = answer(person, "once", "submit")
    assert (shown["host"], shown["method"], shown["body"]) == ("127.0.0.3", "POST", "what=tea")
    until(lambda: seen(owned, "POST"), told=lambda: str(seen(owned, "")))
    assert seen(owned, "POST") == ["POST 127.0.0.3:8123 /order what=tea"]
    until(lambda: "ordered" in titles(owned))


def test_a_form_that_a_person_denies_sends_nothing(owned: Sandbox, person: Person, running: ThreadPoolExecutor) -> None:
    before = seen(owned, "POST")
    assert going(owned, running, "http://127.0.0.1:8123/shop").result(PATIENCE_SECONDS).status_code == 200
    clicked = click(owned, running, "button")
    answer(person, "deny", "submit")
    clicked.result(PATIENCE_SECONDS)
    assert going(owned, running, "about:blank").result(PATIENCE_SECONDS).status_code == 200
    assert seen(owned, "POST") == before


@pytest.fixture
def client(owned: Sandbox) -> Iterator[Session]:
    """A client of DevTools with the agent's key."""
    address = f"{owned.base_url.replace('http', 'ws')}/devtools/browser/any"
    with Session(connect(address, additional_headers=owned.headers, proxy=None, max_size=None, legacy=True)) as connected:
        yield connected


@pytest.mark.parametrize("outcome", ["once", "deny"])
def test_a_new_tab_opens_and_its_page_waits_for_a_person(owned: Sandbox, person: Person, outcome: str) -> None:
    url = f"http://127.0.0.2:8123/tab-{outcome}"
    opened = owned.request("POST", "/v1/browser/tabs", json={"url": url})
    assert opened.status_code == 200, opened.text
    until(lambda: asked(person))
    assert not any(f"/tab-{outcome}" in line for line in seen(owned, "127.0.0.2"))
    assert answer(person, outcome, "navigation")["url"] == url
    until(lambda: not asked(person))
    if outcome == "once":
        until(lambda: f"GET 127.0.0.2:8123 /tab-{outcome}" in seen(owned, "127.0.0.2"))
    else:
        until(lambda: any("127.0.0.2" in title for title in titles(owned)), told=lambda: str(titles(owned)))
        assert not any(f"/tab-{outcome}" in line for line in seen(owned, "127.0.0.2"))
    index = owned.request("GET", "/v1/browser/tabs").json()["data"]
    last = next(number for number, tab in enumerate(index) if tab["url"] == url)
    assert owned.request("DELETE", f"/v1/browser/tabs/{last}").status_code == 200


def test_no_devtools_client_saves_a_file_past_its_rule(
    owned: Sandbox, person: Person, running: ThreadPoolExecutor, client: Session
) -> None:
    owned.run("mkdir", "-m", "777", "/tmp/taken")
    client.result("Browser.setDownloadBehavior", behavior="allow", downloadPath="/tmp/taken", eventsEnabled=True)
    page = going(owned, running, "http://127.0.0.1:8123/past/tool.exe")
    assert answer(person, "deny", "download")["file"] == "tool.exe"
    page.result(PATIENCE_SECONDS)
    assert owned.run("sh", "-c", "ls /tmp/taken ~/Downloads/tool*.exe").stdout.replace("/tmp/taken:", "").strip() == ""


def test_rules_hold_with_the_answer_that_put_them_in_force(owned: Sandbox) -> None:
    policy = owned.request("GET", "/v1/approvals/policy")
    more = [{"name": "now", "subject": "navigation", "match": {"host": "127.0.0.4"}, "action": "deny"}, *RULES]
    try:
        for rules in (RULES[2:], more) * 3:
            put = owned.request("PUT", "/v1/approvals/policy", json={"rules": rules}, headers={"If-Match": policy.headers["ETag"]})
            assert put.status_code == 200, put.text
            policy = put
        refused = owned.request("POST", "/v1/browser/page/navigate", json={"url": "http://127.0.0.4:8123/now"})
        assert refused.status_code == 403, refused.text
        assert seen(owned, "127.0.0.4") == []
    finally:
        owned.request("PUT", "/v1/approvals/policy", json={"rules": RULES}, headers={"If-Match": policy.headers["ETag"]})


@pytest.mark.parametrize(("outcome", "state"), [("once", "completed"), ("deny", "failed")])
def test_a_file_is_handed_over_once_a_person_allows_it(
    owned: Sandbox, person: Person, running: ThreadPoolExecutor, outcome: str, state: str
) -> None:
    url = f"http://127.0.0.1:8123/{outcome}/tool.exe"
    page = going(owned, running, url)
    assert answer(person, outcome, "download")["file"] == "tool.exe"
    page.result(PATIENCE_SECONDS)
    until(lambda: download_of(owned, url)["state"] != "in_progress", told=lambda: str(download_of(owned, url)))
    download = download_of(owned, url)
    assert (download["state"], "denied this" in (download["error"] or "")) == (state, state == "failed"), download
    kept = owned.run("sh", "-c", "cat ~/Downloads/tool*.exe").stdout
    assert kept == ("program" if state == "completed" else "")
    owned.run("sh", "-c", "rm -f ~/Downloads/tool*.exe")
