"""Connections to hosts that a secret is bound to: what the server gets, and what comes back."""

import asyncio
import base64
import gzip
import json
import select
import socket
import ssl

import h11
import pytest

from sandbox_server.egress import intercepted_flow
from sandbox_server.egress.http_exchange import HttpSide
from sandbox_server.egress.tls_stream import TlsStream
from tests.egress.conftest import SECONDS
from tests.secret_servers import HOST, PLACEHOLDER, VALUE, SecretLab, SecretServer, binding, pieces, plain, request, secret

pytestmark = pytest.mark.anyio
BEARER = f"Authorization: Bearer {PLACEHOLDER}"


async def test_the_server_gets_the_value_and_the_program_never_has_it(opened: SecretLab) -> None:
    opened.secrets(secret())
    said = await opened.ask(request(BEARER, "X-Other: " + PLACEHOLDER))
    assert said.startswith(b"HTTP/1.1 200")
    assert opened.server.fields()["authorization"] == f"Bearer {VALUE}"
    assert opened.server.fields()["x-other"] == PLACEHOLDER
    told = await opened.lab.event("secret")
    assert (told["name"], told["outcome"], told["method"], told["path"]) == ("TOKEN", "sent", "GET", "/")
    assert VALUE not in json.dumps(told)


async def test_a_password_of_basic_authentication_is_put_in(opened: SecretLab) -> None:
    opened.secrets(secret(binding(places=["basic"])))
    login = base64.b64encode(f"x:{PLACEHOLDER}".encode()).decode()
    await opened.ask(request(f"Authorization: Basic {login}", f"X-Key: {PLACEHOLDER}"))
    assert base64.b64decode(opened.server.fields()["authorization"].removeprefix("Basic ")) == f"x:{VALUE}".encode()
    assert opened.server.fields()["x-key"] == PLACEHOLDER


async def test_another_host_gets_the_placeholder_and_its_own_certificate(opened: SecretLab) -> None:
    opened.secrets(secret())
    other = SecretServer()
    outside = await other.start("other.example", opened.server.port + 1)
    reader, writer = await opened.lab.connect("other.example", other.port)
    async with asyncio.timeout(SECONDS):
        await writer.start_tls(ssl.create_default_context(cadata=outside.pem), server_hostname="other.example")
        writer.write(request(BEARER, host="other.example"))
        await reader.read(-1)
    writer.close()
    assert other.fields()["authorization"] == f"Bearer {PLACEHOLDER}"
    other.close()


@pytest.mark.parametrize(
    ("bound", "asked"),
    [
        (binding(methods=["POST"]), request(BEARER)),
        (binding(paths=["/v1/**"]), request(BEARER, target="/v2/x")),
        (binding(paths=["/v1/**"]), request(BEARER, target="/v1/../v2/x")),
        (binding(places=["header:X-Key"]), request(BEARER)),
        (binding(), request(target=f"/?key={PLACEHOLDER}")),
        (binding(), request(target=f"/{PLACEHOLDER}")),
        (binding(), request("Content-Type: application/json", method="POST", body=json.dumps({"key": PLACEHOLDER}).encode())),
        (binding(), request("Content-Type: application/x-www-form-urlencoded", method="POST", body=f"key={PLACEHOLDER}".encode())),
    ],
)
async def test_where_it_is_not_bound_the_placeholder_goes_out(opened: SecretLab, bound: dict[str, object], asked: bytes) -> None:
    opened.secrets(secret(bound))
    await opened.ask(asked)
    heard, body = opened.server.heard[0]
    everything = bytes(heard.target) + body + b"".join(value for _, value in heard.headers)
    assert PLACEHOLDER.encode() in everything
    assert VALUE.encode() not in everything


async def test_it_is_put_into_query_path_json_and_form(opened: SecretLab) -> None:
    opened.secrets(secret(binding(places=["query:key", "path", "json:/a/key", "form"])))
    await opened.ask(request(target=f"/bot{PLACEHOLDER}/x?key={PLACEHOLDER}&other={PLACEHOLDER}"))
    assert opened.server.heard[0][0].target == f"/botghp_R3al+Value%2F42/x?key=ghp_R3al%2BValue%2F42&other={PLACEHOLDER}".encode()
    document = {"a": {"key": PLACEHOLDER}, "b": PLACEHOLDER}
    await opened.ask(request("Content-Type: application/json", method="POST", body=json.dumps(document).encode()))
    assert json.loads(opened.server.heard[1][1]) == {"a": {"key": VALUE}, "b": PLACEHOLDER}
    await opened.ask(request("Content-Type: application/x-www-form-urlencoded", method="POST", body=f"a=1&k={PLACEHOLDER}".encode()))
    assert opened.server.heard[2][1] == b"a=1&k=ghp_R3al%2BValue%2F42"


@pytest.mark.parametrize("size", [1, 2, 3, 7, 1000])
@pytest.mark.parametrize("encode", [lambda text: text, base64.b64encode, gzip.compress])
async def test_an_echo_is_redacted_across_pieces_and_encodings(opened: SecretLab, size: int, encode: object) -> None:
    assert callable(encode)
    body = encode(b"begin " + VALUE.encode() + b" end")
    fields = [("Content-Encoding", "gzip")] if encode is gzip.compress else []
    opened.server.respond = lambda *_: (200, [("Transfer-Encoding", "chunked"), ("X-Echo", VALUE), *fields], list(pieces(body, size)))
    opened.secrets(secret())
    said = await opened.ask(request(BEARER, "Accept-Encoding: gzip"))
    whole = b"".join(said.split(b"\r\n")[1:])
    assert VALUE.encode() not in whole
    assert b"R3al" not in whole
    assert base64.b64encode(VALUE.encode())[4:-4] not in whole
    assert b"X-Echo: " + b"*" * len(VALUE) in said
    assert opened.server.fields()["accept-encoding"] == "identity"


async def test_an_answer_that_cannot_be_searched_is_refused(opened: SecretLab) -> None:
    opened.server.respond = lambda *_: plain(b"x", ("Content-Encoding", "br"))
    opened.secrets(secret())
    said = await opened.ask(request(BEARER))
    assert said.startswith(b"HTTP/1.1 502")
    assert b"cannot be searched" in said


@pytest.mark.parametrize("asks", ["Range: bytes=0-3", "range: bytes=-4", "Request-Range: bytes=0-3", "A-IM: range", 'If-Range: "x"'])
async def test_no_part_of_an_answer_is_asked_for_where_secrets_are_looked_for(opened: SecretLab, asks: str) -> None:
    opened.server.respond = lambda *_: plain(f"your key is {VALUE}".encode())
    opened.secrets(secret())
    said = await opened.ask(request(BEARER, asks))
    assert b"your key is " + b"*" * len(VALUE) in said
    assert asks.partition(":")[0].lower() not in opened.server.fields()


@pytest.mark.parametrize("status", [206, 226])
async def test_a_part_of_an_answer_is_refused_where_secrets_are_looked_for(opened: SecretLab, status: int) -> None:
    opened.server.respond = lambda *_: (status, [("Content-Range", "bytes 0-3/9"), ("Content-Length", "4")], [VALUE[:4].encode()])
    opened.secrets(secret())
    said = await opened.ask(request(BEARER))
    assert said.startswith(b"HTTP/1.1 502")
    assert b"is a part of one" in said
    assert VALUE[:4].encode() not in said


async def test_a_host_without_a_secret_is_asked_for_parts(opened: SecretLab) -> None:
    lab = opened.lab
    lab.rules(lab.allow(HOST, protocols=["tls"], methods=["GET"], paths=["/v1/**"], name="reads"))
    opened.server.respond = lambda *_: (206, [("Content-Range", "bytes 0-3/9"), ("Content-Length", "4")], [b"part"])
    assert (await opened.ask(request("Range: bytes=0-3", target="/v1/x"))).startswith(b"HTTP/1.1 206")
    assert opened.server.fields()["range"] == "bytes=0-3"


async def test_requests_of_one_connection_share_one_to_the_server(opened: SecretLab) -> None:
    opened.secrets(secret())
    await opened.ask(request(BEARER, closes=False) * 3 + request(BEARER))
    assert len(opened.server.heard) == 4
    assert opened.server.connections == 1


async def test_requests_may_come_one_after_the_other_however_fast_the_server_is(opened: SecretLab, monkeypatch: pytest.MonkeyPatch) -> None:
    say = HttpSide.say

    async def say_and_wait(side: HttpSide, event: object) -> None:
        await say(side, event)  # type: ignore[arg-type]
        if isinstance(event, h11.Request):
            await opened.server.answered.wait()
            assert isinstance(side.stream, TlsStream)
            select.select([side.stream._sock], [], [], SECONDS)  # the answer is here before anything else runs
            opened.server.answered.clear()

    monkeypatch.setattr(HttpSide, "say", say_and_wait)
    opened.secrets(secret())
    async with asyncio.timeout(SECONDS):
        reader, writer = await opened.open()
        for _ in range(20):
            writer.write(request(BEARER, closes=False))
            assert (await reader.readuntil(b"ok")).startswith(b"HTTP/1.1 200")
        writer.close()
    assert opened.server.connections == 1


async def test_large_bodies_stream_both_ways(opened: SecretLab) -> None:
    content = b"x" * (3 << 20)
    opened.server.respond = lambda _, body: plain(body)
    opened.secrets(secret())
    said = await opened.ask(request(BEARER, "Content-Type: application/octet-stream", method="PUT", body=content))
    assert said.endswith(content)
    assert len(opened.server.heard[0][1]) == len(content)


@pytest.mark.parametrize(
    ("asked", "why"),
    [
        (b"GET / HTTP/1.1\r\nHost: other.example\r\n\r\n", b"asks for 'other.example'"),
        (b"GET / HTTP/1.1\r\nHost: api.example\r\nHost: other.example\r\n\r\n", b"Host"),
        (b"GET / HTTP/1.1\r\n\r\n", b"Host"),
        (b"GET https://other.example/ HTTP/1.1\r\nHost: api.example\r\n\r\n", b"asks for 'other.example'"),
        (b"CONNECT other.example:443 HTTP/1.1\r\nHost: api.example\r\n\r\n", b"other.example"),
        (
            b"POST / HTTP/1.1\r\nHost: api.example\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
            b"framed in two ways",
        ),
        (b"POST / HTTP/1.1\r\nHost: api.example\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\nx", b"Content-Length"),
        (b"GET / HTTP/1.1\r\nHost: api.example\r\nX : y\r\n\r\n", b"egress"),
        (b"GET / HTTP/1.1\r\nHost: api.example\r\nX: a\rb\r\n\r\n", b"egress"),
        (b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", b""),
        (b"GET / HTTP/1.1\r\nHost: api.example\r\nX: " + b"x" * (80 << 10) + b"\r\n\r\n", b"egress"),
    ],
)
async def test_what_two_servers_may_read_differently_never_arrives(opened: SecretLab, asked: bytes, why: bytes) -> None:
    opened.secrets(secret())
    said = await opened.ask(asked)
    assert opened.server.heard == []
    assert why.lower() in said.lower()


async def test_a_redirect_to_another_host_takes_the_placeholder_along(opened: SecretLab) -> None:
    opened.server.respond = lambda *_: (302, [("Location", f"https://other.example/?t={VALUE}"), ("Content-Length", "0")], [])
    opened.secrets(secret())
    said = await opened.ask(request(BEARER))
    assert b"https://other.example/?t=" + b"*" * len(VALUE) in said


async def test_a_server_whose_certificate_is_not_valid_gets_nothing(opened: SecretLab) -> None:
    opened.broker._client = ssl.create_default_context()
    opened.secrets(secret())
    said = await opened.ask(request(BEARER))
    assert said.startswith(b"HTTP/1.1 502")
    assert b"certificate is not valid" in said
    assert opened.server.heard == []


async def test_a_server_with_a_certificate_of_another_name_gets_nothing(opened: SecretLab) -> None:
    opened.secrets(secret(binding("other.example")))
    said = await opened.ask(request(BEARER, host="other.example"), "other.example")
    assert b"certificate is not valid" in said
    assert opened.server.heard == []


async def test_a_bound_host_that_resolves_to_a_private_address_gets_nothing(opened: SecretLab) -> None:
    opened.secrets(secret())
    opened.lab.hosts[HOST] = ["10.0.0.7"]
    said = await opened.ask(request(BEARER))
    assert said.startswith(b"HTTP/1.1 403")
    assert b"resolves to a private network, which is not allowed" in said


async def test_in_clear_text_the_placeholder_stays(opened: SecretLab) -> None:
    port = await opened.lab.serve(80)
    opened.secrets(secret(binding(f"{HOST}:80")))
    await opened.lab.said(HOST, port, request(BEARER), 5)
    assert PLACEHOLDER.encode() in opened.lab.heard[port]
    assert VALUE.encode() not in opened.lab.heard[port]


@pytest.mark.filterwarnings("ignore:ssl.TLSVersion:DeprecationWarning")
async def test_old_versions_of_tls_are_refused(opened: SecretLab) -> None:
    opened.secrets(secret())
    old = ssl.create_default_context(cadata=opened.broker.authority().pem)
    old.maximum_version = ssl.TLSVersion.TLSv1_1
    old.minimum_version = ssl.TLSVersion.TLSv1_1
    old.set_ciphers("ALL:@SECLEVEL=0")
    with pytest.raises((ssl.SSLError, ConnectionError)):
        await opened.open(context=old)


async def test_a_program_that_does_not_trust_the_authority_is_told_of(opened: SecretLab) -> None:
    opened.secrets(secret())
    with pytest.raises(ssl.SSLError):
        await opened.open(context=ssl.create_default_context())
    assert "does not trust" in str((await opened.lab.event("refused"))["reason"])


async def test_without_a_server_name_nothing_is_opened(opened: SecretLab) -> None:
    opened.secrets(secret())
    nameless = ssl.create_default_context(cadata=opened.broker.authority().pem)
    nameless.check_hostname = False
    _, writer = await opened.lab.connect(HOST, opened.server.port)
    with pytest.raises((ssl.SSLError, ConnectionError)):
        await writer.start_tls(nameless)
    assert "names no server" in str((await opened.lab.event("refused"))["reason"])


async def test_methods_and_paths_of_rules_hold_within_tls(opened: SecretLab) -> None:
    lab = opened.lab
    lab.rules(lab.allow(HOST, protocols=["tls"], methods=["GET"], paths=["/v1/**"], name="reads"))
    said = await opened.ask(request(target="/v1/x", closes=False) + request(method="POST", target="/v1/x"))
    assert said.startswith(b"HTTP/1.1 200")
    assert b"POST /v1/x is not allowed" in said
    assert [bytes(heard.method) for heard, _ in opened.server.heard] == [b"GET"]


async def test_a_rule_that_asks_for_a_request_waits_for_the_answer(opened: SecretLab) -> None:
    lab = opened.lab
    lab.rules({**lab.allow(HOST, protocols=["tls"], methods=["POST"], name="posts"), "action": "ask"})
    said = asyncio.ensure_future(opened.ask(request(method="POST", target="/v1/x")))
    asked = await lab.event("ask")
    assert asked["request"] == "POST /v1/x"
    lab.server.approvals.answer(asked["ask"], allowed=True)
    assert (await said).startswith(b"HTTP/1.1 200")


async def test_a_flow_that_the_policy_denies_is_cut(opened: SecretLab) -> None:
    opened.secrets(secret())
    async with asyncio.timeout(SECONDS):
        reader, writer = await opened.open()
        writer.write(request(BEARER, closes=False))
        await reader.readuntil(b"ok")
        assert [flow.describe()["destination"] for flow in opened.lab.server.flows.open.values()] == [f"{HOST}:{opened.server.port}"]
        opened.lab.rules()
        assert opened.lab.server.flows.judge_again() == 1
        assert await reader.read() == b""
        writer.close()


async def test_a_websocket_passes_and_its_echo_is_redacted(opened: SecretLab) -> None:
    upgrade = [("Upgrade", "websocket"), ("Connection", "Upgrade")]
    opened.server.respond = lambda *_: (101, upgrade, [b"\x81\x05hello", VALUE.encode()])
    opened.secrets(secret())
    asked = request(BEARER, "Upgrade: websocket", "Connection: Upgrade", "Sec-WebSocket-Extensions: permessage-deflate", closes=False)
    async with asyncio.timeout(SECONDS):
        reader, writer = await opened.open()
        writer.write(asked)
        assert b" 101 " in await reader.readuntil(b"\r\n\r\n")
        assert await reader.readexactly(7 + len(VALUE)) == b"\x81\x05hello" + b"*" * len(VALUE)
        writer.write(b"frame")
        assert await reader.readexactly(5) == b"frame"
        writer.close()
    assert opened.server.fields()["authorization"] == f"Bearer {VALUE}"
    assert "sec-websocket-extensions" not in opened.server.fields()


async def test_a_server_that_changes_to_another_protocol_is_refused(opened: SecretLab) -> None:
    """In it requests would follow that nobody judges."""
    opened.server.respond = lambda *_: (101, [("Upgrade", "h2c"), ("Connection", "Upgrade")], [b"PRI"])
    opened.secrets(secret())
    said = await opened.ask(request("Upgrade: websocket", "Connection: Upgrade", closes=False))
    assert b"changes to another protocol than that of a WebSocket" in said
    assert b" 101 " not in said


async def test_a_value_that_no_header_may_have_is_refused(opened: SecretLab) -> None:
    opened.secrets(secret(value="pass wörd ☃"))
    said = await opened.ask(request(BEARER))
    assert said.startswith(b"HTTP/1.1 502")
    assert b"no header may have" in said
    assert opened.server.heard == []


async def test_a_client_that_does_not_finish_its_head_is_cut(opened: SecretLab, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(intercepted_flow, "HEAD_SECONDS", 0.2)
    opened.secrets(secret())
    async with asyncio.timeout(SECONDS):
        reader, writer = await opened.open()
        writer.write(b"GET / HTTP/1.1\r\nHost: ")
        assert await reader.read() == b""
        writer.close()


async def test_a_server_that_closed_meanwhile_is_connected_to_again(opened: SecretLab) -> None:
    opened.server.respond = lambda *_: plain(b"ok", ("Connection", "close"))
    opened.secrets(secret())
    async with asyncio.timeout(SECONDS):
        reader, writer = await opened.open()
        for _ in range(2):
            writer.write(request(BEARER, closes=False))
            head = await reader.readuntil(b"\r\n\r\n")
            assert b" 200 " in head
            await reader.readexactly(2)
            if b"Connection: close" in head:
                break
        writer.close()


async def test_a_server_that_answers_nothing_is_a_502(opened: SecretLab) -> None:
    opened.secrets(secret())

    def vanish(*_: object) -> object:
        raise ConnectionError

    opened.server.respond = vanish  # type: ignore[assignment]
    said = await opened.ask(request(BEARER))
    assert said.startswith(b"HTTP/1.1 502")


async def test_nobody_listens_at_the_server(opened: SecretLab) -> None:
    opened.secrets(secret())
    with socket.create_server(("127.0.9.1", 0)) as taken:
        free = taken.getsockname()[1]
    opened.secrets(secret(binding(f"{HOST}:{free}")))
    opened.server.port = free
    assert b"502" in await opened.ask(request(BEARER))
