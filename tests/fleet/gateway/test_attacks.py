"""What a stranger, a guest and a sandbox try at the gateway."""

import asyncio

import pytest
from tandem_fleet.gateway.credentials import Credentials
from tandem_fleet.sandboxes import Desired

from tests.fleet.engines import MemoryBackend
from tests.fleet.gateway.conftest import DOMAIN, Front
from tests.fleet.gateway.sandbox import EchoSandbox
from tests.fleet.gateway.test_gateway import PAGE, arrived, asleep, signed_in

pytestmark = pytest.mark.anyio
NOBODY = "abcdefghij234567"
"""An id that no sandbox has."""


async def raw(front: Front, text: str) -> bytes:
    """What the gateway answers to these bytes."""
    reader, writer = await asyncio.open_connection("127.0.0.1", front.port)
    writer.write(text.encode())
    async with asyncio.timeout(30):
        answer = await reader.read()
    writer.close()
    await writer.wait_closed()
    return answer


@pytest.mark.parametrize("page", [{}, PAGE])
async def test_a_stranger_is_told_the_same_of_every_sandbox_and_wakes_none(
    front: Front, engine: MemoryBackend, echo: EchoSandbox, page: dict[str, str]
) -> None:
    runs, sleeps = await front.sandbox("runs"), await front.sandbox("sleeps")
    await asleep(front, sleeps, Desired.STOPPED)
    engine.calls.clear()
    guesses = [
        {},
        {"authorization": "Bearer x"},
        {"authorization": front.token(sleeps)["Authorization"][:-3] + "abc"},
        {"x_aio_api_key": "x"},
    ]
    for guess in guesses:
        for uri in ("/", "/refused", "/?ticket=bad", "/v1/x", "/healthz", "/static/style.css", "/join", "/.well-known/jwks.json"):
            if uri in ("/", "/v1/x") and guess:
                continue  # the sandbox of these tests opens to every key
            told = []
            for one in (runs.id, sleeps.id, NOBODY):
                answer = await front.get(f"{one}.{DOMAIN}", uri, **guess, **page)
                headers = {name: value for name, value in answer.headers.items() if name != "date"}
                told.append((answer.status_code, headers, answer.text))
            assert told[0] == told[1] == told[2], (guess, uri)
            assert told[0][0] == 401
    assert not any(call.startswith("start") for call in engine.calls)


async def test_a_token_of_one_opens_and_wakes_no_other(front: Front, echo: EchoSandbox) -> None:
    mine, other = await front.sandbox("mine"), await front.sandbox("other")
    await asleep(front, other, Desired.PAUSED)
    for host, uri in ((f"{other.id}.{DOMAIN}", "/"), ("127.0.0.1", f"/s/{other.id}/"), (f"80-{other.id}.{DOMAIN}", "/")):
        assert (await front.get(host, uri, **front.token(mine))).status_code == 401
    cookie = await signed_in(front, mine)
    assert (await front.get(f"{other.id}.{DOMAIN}", cookie=cookie, **PAGE)).status_code == 401
    assert (await front.fleet.get(other.id)).state == "paused"


async def test_the_gateways_cookie_is_no_token_and_a_token_no_cookie(front: Front, echo: EchoSandbox) -> None:
    one = await front.sandbox()
    await asleep(front, one, Desired.PAUSED)
    cookie = Credentials(front.fleet.key, secure=False).new_cookie(one.id).partition("=")[2].partition(";")[0]
    token = front.token(one)["Authorization"].removeprefix("Bearer ")
    for headers in ({"authorization": f"Bearer {cookie}"}, {"cookie": f"tandem_gateway={token}"}):
        assert (await front.get(f"{one.id}.{DOMAIN}", **headers, **PAGE)).status_code == 401
    assert (await front.fleet.get(one.id)).state == "paused"


async def test_no_header_of_a_client_says_where_a_request_goes(front: Front) -> None:
    one = await front.sandbox()
    spoofed = {
        "x_gateway_upstream": "127.0.0.1:9",
        "x_gateway_form": "path",
        "x_gateway_trust": "token",
        "x_gateway_sandbox": NOBODY,
        "x_gateway_host": f"{NOBODY}.{DOMAIN}",
        "x_gateway_uri": f"/s/{NOBODY}/",
        "x_gateway_method": "DELETE",
        "x_gateway_cookie": "a=b",
        "x_forwarded_for": "1.2.3.4",
        "x_forwarded_host": "evil.test",
        "x_forwarded_proto": "https",
        "x_forwarded_prefix": "/evil",
        "x_real_ip": "1.2.3.4",
        "forwarded": "for=1.2.3.4;host=evil.test",
        "x_original_uri": "/",
    }
    told = arrived(await front.get(f"{one.id}.{DOMAIN}", "/x", **spoofed, **front.token(one)))
    headers = told["headers"]
    assert (told["verb"], told["uri"]) == ("GET", "/x")
    assert [headers[f"x-forwarded-{name}"] for name in ("for", "host", "proto")] == ["127.0.0.1", f"{one.id}.{DOMAIN}", "http"]
    left = {
        name for name in headers if name.startswith(("x-gateway", "x-original")) or name in ("forwarded", "x-real-ip", "x-forwarded-prefix")
    }
    assert not left
    assert "cookie" not in headers


async def test_words_of_a_client_are_no_placeholders(front: Front) -> None:
    one = await front.sandbox()
    words = "{env.PATH}{http.vars.gateway_upstream}"
    told = arrived(await front.get(f"{one.id}.{DOMAIN}", "/a?b=%7Benv.PATH%7D", cookie=f"a={words}", x_it=words, **front.token(one)))
    assert (told["headers"]["cookie"], told["headers"]["x-it"], told["uri"]) == (f"a={words}", words, "/a?b=%7Benv.PATH%7D")


@pytest.mark.parametrize(
    "path",
    [
        "/s/{a}/../{b}/",
        "/s/{a}/%2e%2e/{b}/",
        "/s/{a}/..%2f{b}/",
        "/s/{a}/x/..;/y",
        "/s/{a}\\..\\{b}",
        "/s/{a}/%5c..%5c{b}",
        "/s/{a}/.",
        "/s/{a}/#/../{b}",
    ],
)
async def test_no_path_leads_out_of_a_sandboxs_own(front: Front, echo: EchoSandbox, path: str) -> None:
    mine, other = await front.sandbox("mine"), await front.sandbox("other")
    token = front.token(mine)["Authorization"]
    answer = await raw(
        front,
        f"GET {path.format(a=mine.id, b=other.id)} HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: {token}\r\nConnection: close\r\n\r\n",
    )
    assert answer.split(b" ", 2)[1] == b"400", answer
    assert echo.paths == []


@pytest.mark.parametrize("path", ["/s//{a}/", "/S/{a}/", "/%73/{a}/", "/s/{a}x/", "/x", "/", "/s/", "/s/{a}%2f", "//s/{a}/"])
async def test_an_address_that_names_no_sandbox_is_nothing(front: Front, echo: EchoSandbox, path: str) -> None:
    one = await front.sandbox()
    assert (await front.get("127.0.0.1", path.format(a=one.id), **front.token(one))).status_code == 404
    assert echo.paths == []


@pytest.mark.parametrize(
    "host", ["", ".", "x.{d}.evil.test", "evil-{a}.{d}", "00-{a}.{d}", "{d}", "x.{a}.{d}", "{a}.{d}@evil.test", "{a}{d}"]
)
async def test_a_host_that_names_no_sandbox_is_nothing(front: Front, echo: EchoSandbox, host: str) -> None:
    one = await front.sandbox()
    token = front.token(one)["Authorization"]
    named = host.format(a=one.id, d=DOMAIN)
    answer = await raw(front, f"GET / HTTP/1.1\r\nHost: {named}\r\nAuthorization: {token}\r\nConnection: close\r\n\r\n")
    assert answer.split(b" ", 2)[1] in (b"400", b"404"), answer
    assert echo.paths == []


async def test_a_request_in_two_minds_about_its_host_is_refused(front: Front, echo: EchoSandbox) -> None:
    mine, other = await front.sandbox("mine"), await front.sandbox("other")
    token = front.token(mine)["Authorization"]
    hosts = f"Host: {mine.id}.{DOMAIN}\r\nHost: {other.id}.{DOMAIN}"
    assert (await raw(front, f"GET / HTTP/1.1\r\n{hosts}\r\nAuthorization: {token}\r\n\r\n")).split(b" ", 2)[1] == b"400"
    absolute = (
        f"GET http://{mine.id}.{DOMAIN}/ HTTP/1.1\r\nHost: {other.id}.{DOMAIN}\r\nAuthorization: {token}\r\nConnection: close\r\n\r\n"
    )
    assert (await raw(front, absolute)).split(b" ", 2)[1] == b"400"
    assert echo.paths == []


async def test_a_body_cannot_hide_a_second_request(front: Front, echo: EchoSandbox) -> None:
    one = await front.sandbox()
    token = front.token(one)["Authorization"]
    head = f"POST /first HTTP/1.1\r\nHost: {one.id}.{DOMAIN}\r\nAuthorization: {token}\r\n"
    hidden = "0\r\n\r\nGET /hidden HTTP/1.1\r\nHost: x\r\n\r\n"
    answer = await raw(front, f"{head}Content-Length: {len(hidden)}\r\nTransfer-Encoding: chunked\r\nConnection: close\r\n\r\n{hidden}")
    assert "/hidden" not in echo.paths, answer
    both = await raw(front, f"{head}Content-Length: 3\r\nContent-Length: 5\r\nConnection: close\r\n\r\nabcde")
    assert both.split(b" ", 2)[1] == b"400"


async def test_another_upgrade_than_a_websocket_is_none(front: Front, echo: EchoSandbox) -> None:
    one = await front.sandbox()
    token = front.token(one)["Authorization"]
    told = await raw(
        front,
        f"GET / HTTP/1.1\r\nHost: {one.id}.{DOMAIN}\r\nAuthorization: {token}\r\nUpgrade: h2c\r\nHTTP2-Settings: AAMAAABkAAQAAP__\r\n"
        "Connection: Upgrade, HTTP2-Settings, close\r\n\r\n",
    )
    assert b" 200 " in told.partition(b"\r\n")[0]
    assert b"upgrade" not in told.lower()
    assert b"http2-settings" not in told


async def test_a_port_that_is_none_is_refused_before_anybody_is_asked(front: Front, echo: EchoSandbox) -> None:
    one = await front.sandbox()
    for host in (one.id, NOBODY):
        assert (await front.get(f"{host}.{DOMAIN}", x_aio_proxy_port="8080@evil", authorization="Bearer x")).status_code == 400
    assert echo.paths == []


async def test_headers_that_are_too_large_are_refused(front: Front, echo: EchoSandbox) -> None:
    one = await front.sandbox()
    answer = await front.get(f"{one.id}.{DOMAIN}", x_it="x" * 60_000, **front.token(one))
    assert answer.status_code == 431
    assert arrived(await front.get(f"{one.id}.{DOMAIN}", x_it="x" * 30_000, **front.token(one)))


@pytest.mark.parametrize("rest", ["//evil.test/", "/@evil.test", "/?x=//evil.test", "/\\evil.test", "/%0d%0aSet-Cookie:%20a=b"])
async def test_a_browser_is_led_to_the_sandboxs_own_name_alone(front: Front, rest: str) -> None:
    answer = await front.get("127.0.0.1", f"/s/{NOBODY}{rest}", **PAGE)
    if answer.status_code != 400:
        assert answer.status_code == 302
        assert answer.headers["location"].startswith(f"http://{NOBODY}.{DOMAIN}:{front.port}/")
        assert "set-cookie" not in answer.headers


async def test_the_fleets_answers_are_not_reached_from_outside(front: Front) -> None:
    for host in ("127.0.0.1", DOMAIN, f"{NOBODY}.{DOMAIN}"):
        for path in ("/v1/gateway/authorize", "/v1/sandboxes", "/v1/gateway/state", "/healthz"):
            assert (await front.get(host, path)).status_code in (401, 404)
