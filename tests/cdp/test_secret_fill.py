"""A secret put into a field of a page, in a real browser."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from typing import Any

import pytest

from tests.patience import until

BrowserServer = Any
Session = Any

SECRET = "correct hörse \U0001f40e"
FORM = """<form><input id=pin oninput="seen = this.value.length" onchange="changed = true"><input id=off disabled>
<textarea id=note></textarea><iframe srcdoc='<input id=inner>'></iframe></form>"""


@pytest.fixture(scope="module")
def site() -> Iterator[str]:
    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(200)
            self.send_header("Content-Type", "text/html")
            self.end_headers()
            self.wfile.write(FORM.encode())

        def log_message(self, *_: object) -> None: ...

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()
    server.server_close()


@contextmanager
def showing(browser_server: BrowserServer, url: str) -> Iterator[tuple[Session, str]]:
    """A page in front."""
    with browser_server.connect() as client:
        target = client.result("Target.createTarget", url="about:blank")["targetId"]
        session = client.attach(target)
        client.result("Page.navigate", session, url=url)
        until(lambda: client.seen("location.protocol === 'http:' && document.readyState === 'complete'", session))
        client.result("Target.activateTarget", targetId=target)
        try:
            yield client, session
        finally:
            client.result("Target.closeTarget", targetId=target)


def drop(browser_server: BrowserServer, origin: str, selector: str, secret: str = SECRET) -> Any:
    return browser_server.request("PUT", "/browser/secret", json={"origin": origin, "selector": selector, "secret": secret})


def test_the_field_takes_it_as_if_it_was_typed_and_no_client_is_told_it(shared: BrowserServer, site: str) -> None:
    with showing(shared, site) as (client, session):
        assert drop(shared, site, "#pin").status_code == 200
        assert client.evaluate("[seen, changed, document.activeElement.id]", session) == [len(SECRET.encode("utf-16-le")) // 2, True, "pin"]
        assert client.evaluate("document.querySelector('#pin').value", session) == "(hidden)"
        assert client.evaluate("getComputedStyle(document.querySelector('#pin')).webkitTextSecurity", session) == "disc"
        assert drop(shared, site, "#note").status_code == 200
        assert client.evaluate("document.querySelector('#note').value", session) == "(hidden)"


def test_a_secret_is_filled_only_into_a_frame_of_its_origin(shared: BrowserServer, site: str) -> None:
    with showing(shared, site) as (client, session):
        refused = drop(shared, "https://bank.example", "#pin")
        assert (refused.status_code, refused.json()["data"]["reason"]) == (409, "other_origin")
        assert client.evaluate("document.querySelector('#pin').value", session) == ""
        assert drop(shared, site, "#inner").status_code == 200
        assert client.evaluate("frames[0].document.querySelector('#inner').value", session) == "(hidden)"


@pytest.mark.parametrize(("selector", "reason"), [("#none", "no_field"), ("#off", "no_field"), ("form", "no_field"), ("#", "no_field")])
def test_what_is_no_field_that_can_be_filled_is_told(shared: BrowserServer, site: str, selector: str, reason: str) -> None:
    with showing(shared, site):
        refused = drop(shared, site, selector)
        assert (refused.status_code, refused.json()["data"]["reason"]) == (409, reason)


def test_what_is_refused_does_not_repeat_the_secret(shared: BrowserServer, site: str) -> None:
    with showing(shared, site):
        assert SECRET not in json.dumps(drop(shared, site, "#none").json(), ensure_ascii=False)
        wrong = shared.request("PUT", "/browser/secret", json={"origin": 1, "secret": SECRET})
        assert wrong.status_code == 400
        assert "correct" not in wrong.text
