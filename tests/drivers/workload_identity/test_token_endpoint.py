"""The client of the owner's token endpoint, against a server on loopback."""

import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, cast
from urllib.parse import parse_qs

import pytest

from sandbox_server.core.errors import PermissionDenied, Unavailable
from sandbox_server.drivers.workload_identity import token_endpoint
from sandbox_server.drivers.workload_identity.token_endpoint import GRANT, JWT_TYPE, MAX_ANSWER, TokenEndpoint

pytestmark = pytest.mark.anyio

GOOD = {"access_token": "at-1", "issued_token_type": "x", "token_type": "Bearer", "expires_in": 300, "scope": "read"}


class Endpoint:
    """A token endpoint that gives a fixed answer, and remembers what it was asked."""

    def __init__(self) -> None:
        self.status = 200
        self.body: bytes = json.dumps(GOOD).encode()
        self.headers: dict[str, str] = {}
        self.asked: list[tuple[dict[str, list[str]], str | None]] = []
        endpoint = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                form = parse_qs(self.rfile.read(int(self.headers["Content-Length"])).decode())
                endpoint.asked.append((form, self.headers["Authorization"]))
                self.send_response(endpoint.status)
                for name, value in endpoint.headers.items():
                    self.send_header(name, value)
                self.end_headers()
                self.wfile.write(endpoint.body)

            def log_message(self, *_: object) -> None: ...

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server.server_port}/token"


@pytest.fixture
def endpoint() -> Iterator[Endpoint]:
    found = Endpoint()
    thread = threading.Thread(target=found.server.serve_forever)
    thread.start()
    yield found
    found.server.shutdown()
    found.server.server_close()
    thread.join()


def says(endpoint: Endpoint, **fields: Any) -> None:
    endpoint.body = json.dumps({name: value for name, value in (GOOD | fields).items() if value is not None}).encode()


async def test_the_sandbox_s_token_is_exchanged(endpoint: Endpoint) -> None:
    found = await TokenEndpoint(endpoint.url, now=lambda: 1000.0).access_token(lambda: "jwt", "me", audience="https://git", scope=None)

    assert (found.token, found.kind, found.expires_at, found.scope) == ("at-1", "Bearer", 1300.0, "read")
    assert endpoint.asked == [
        ({"grant_type": [GRANT], "subject_token": ["jwt"], "subject_token_type": [JWT_TYPE], "audience": ["https://git"]}, None)
    ]


async def test_the_client_signs_in_with_its_secret(endpoint: Endpoint) -> None:
    await TokenEndpoint(endpoint.url, ("box:1", "s&p")).access_token(lambda: "jwt", "me")
    assert endpoint.asked[0][1] == "Basic Ym94JTNBMTpzJTI2cA=="


async def test_a_token_is_kept_for_the_same_question_until_shortly_before_its_end(endpoint: Endpoint) -> None:
    clock = [0.0]
    client = TokenEndpoint(endpoint.url, now=lambda: clock[0])
    for audience, about, asked in (("a", "me", 1), ("a", "me", 1), ("b", "me", 2), ("a", "me in acme", 3)):
        await client.access_token(lambda: "jwt", about, audience=audience)
        assert len(endpoint.asked) == asked
    clock[0] = 280.0
    await client.access_token(lambda: "jwt", "me", audience="a")
    assert len(endpoint.asked) == 4


async def test_only_so_many_are_kept(endpoint: Endpoint) -> None:
    client = TokenEndpoint(endpoint.url)
    for number in range(token_endpoint.MAX_KEPT + 5):
        await client.access_token(lambda: "jwt", "me", audience=f"a{number}")
    assert len(client._kept) == token_endpoint.MAX_KEPT


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"[]",
        b"not json",
        b"[" * 50_000,
        b"x" * (MAX_ANSWER + 1),
        json.dumps(GOOD | {"access_token": ""}).encode(),
        json.dumps(GOOD | {"access_token": "a b"}).encode(),
        json.dumps(GOOD | {"access_token": "a\r\nb"}).encode(),
        json.dumps(GOOD | {"access_token": "a" * 20_000}).encode(),
        json.dumps(GOOD | {"access_token": 7}).encode(),
        json.dumps(GOOD | {"token_type": None}).encode(),
    ],
)
async def test_an_answer_that_is_none_is_no_token(endpoint: Endpoint, body: bytes) -> None:
    endpoint.body = body
    with pytest.raises(Unavailable):
        await TokenEndpoint(endpoint.url).access_token(lambda: "jwt", "me")


@pytest.mark.parametrize(("expires", "lasts"), [(None, 0), ("60", 0), (-5, 0), (True, 0), (1e12, token_endpoint.MAX_LIFETIME)])
async def test_a_lifetime_that_is_none_counts_as_over(endpoint: Endpoint, expires: object, lasts: float) -> None:
    says(endpoint, expires_in=expires)
    found = await TokenEndpoint(endpoint.url, now=lambda: 0.0).access_token(lambda: "jwt", "me")
    assert found.expires_at == lasts


async def test_a_refusal_names_the_endpoint_s_error_and_no_token(endpoint: Endpoint) -> None:
    endpoint.status, endpoint.body = 400, b'{"error": "invalid_target", "error_description": "jwt-secret"}'
    with pytest.raises(PermissionDenied, match="invalid_target") as refused:
        await TokenEndpoint(endpoint.url).access_token(lambda: "jwt-secret", "me")
    assert "jwt-secret" not in str(refused.value)
    endpoint.body = b'{"error": "<script>"}'
    with pytest.raises(PermissionDenied, match="status 400"):
        await TokenEndpoint(endpoint.url).access_token(lambda: "jwt", "me")


async def test_redirects_are_not_followed(endpoint: Endpoint) -> None:
    endpoint.status, endpoint.headers = 307, {"Location": f"{endpoint.url}/elsewhere"}
    with pytest.raises(Unavailable, match="307"):
        await TokenEndpoint(endpoint.url).access_token(lambda: "jwt", "me")
    assert len(endpoint.asked) == 1


async def test_an_endpoint_that_is_not_there_or_fails_is_said(endpoint: Endpoint) -> None:
    endpoint.status = 500
    with pytest.raises(Unavailable, match="500"):
        await TokenEndpoint(endpoint.url).access_token(lambda: "jwt", "me")
    with pytest.raises(Unavailable):
        await TokenEndpoint("http://127.0.0.1:1/").access_token(lambda: "jwt", "me")


async def test_an_answer_that_drips_is_bounded(endpoint: Endpoint, monkeypatch: pytest.MonkeyPatch) -> None:
    times = iter((0.0, 100.0, 100.0))
    monkeypatch.setattr(token_endpoint, "time", cast("Any", type("Clock", (), {"monotonic": lambda: next(times)})))
    with pytest.raises(Unavailable):
        await TokenEndpoint(endpoint.url, now=lambda: 0.0).access_token(lambda: "jwt", "me")
