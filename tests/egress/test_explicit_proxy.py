import asyncio
import socket
from collections.abc import AsyncIterator

import pytest

from sandbox_server.egress import explicit_proxy
from sandbox_server.egress.refusals import ACCESS_DENIED
from tests.client_hellos import real
from tests.egress.conftest import OUTSIDE, SECONDS, EgressLab

pytestmark = pytest.mark.anyio
CONNECT = b"CONNECT %s:%d HTTP/1.1\r\nHost: x\r\n\r\n"
ESTABLISHED = b"HTTP/1.1 200 Connection established\r\n\r\n"
GREETING = b"\5\1\0"

type Ends = tuple[asyncio.StreamReader, asyncio.StreamWriter]


class ProxyLab:
    """The lab with a proxy's port."""

    def __init__(self, lab: EgressLab, listener: socket.socket) -> None:
        self.lab = lab
        self._listener = listener

    async def connect(self) -> Ends:
        return await asyncio.open_connection(*self._listener.getsockname())

    async def said(self, *sent: bytes, count: int = -1) -> bytes:
        """What comes back for some bytes, sent one after the other."""
        async with asyncio.timeout(SECONDS):
            reader, writer = await self.connect()
            for part in sent:
                writer.write(part)
                await writer.drain()
            try:
                return await (reader.read(-1) if count < 0 else reader.readexactly(count))
            finally:
                writer.close()

    async def tunnel(self, host: bytes, port: int) -> Ends:
        reader, writer = await self.connect()
        writer.write(CONNECT % (host, port))
        assert await reader.readexactly(len(ESTABLISHED)) == ESTABLISHED
        return reader, writer


@pytest.fixture
async def proxy(lab: EgressLab) -> AsyncIterator[ProxyLab]:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        lab.server.proxy(listener)
        yield ProxyLab(lab, listener)


async def test_a_tunnel_carries_tls_to_an_allowed_name_to_the_byte(lab: EgressLab, proxy: ProxyLab) -> None:
    lab.rules(lab.allow("a.example"))
    await lab.serve(443)
    hello = real("a.example")
    assert await proxy.said(CONNECT % (b"a.example", 443) + hello, count=len(ESTABLISHED) + 5) == ESTABLISHED + b"hello"
    assert lab.heard[443] == hello
    opened = await lab.event("open")
    assert (opened["destination"], opened["protocol"], opened["rule"]) == ("a.example:443", "tls", "rule 0")


async def test_a_tunnel_to_a_denied_name_is_refused_with_the_rule_before_it_begins(lab: EgressLab, proxy: ProxyLab) -> None:
    lab.rules({"action": "deny", "hosts": ["evil.example"], "name": "no evil"}, default="allow")
    answer = await proxy.said(CONNECT % (b"evil.example", 443))
    assert answer.startswith(b"HTTP/1.1 403 Forbidden\r\n")
    assert b"egress: evil.example:443" in answer
    assert b"no evil" in answer
    assert lab.asked == []
    assert (await lab.event("refused"))["rule"] == "no evil"


async def test_a_tunnel_to_an_address_is_decided_by_networks_alone(lab: EgressLab, proxy: ProxyLab) -> None:
    lab.rules(lab.allow("*"), outside=False, default="allow")
    answer = await proxy.said(CONNECT % (b"169.254.169.254", 80))
    assert answer.startswith(b"HTTP/1.1 403")
    assert (await lab.event("refused"))["rule"] == "protected"


@pytest.mark.parametrize("inside", [real("b.example"), real(None), b"GET / HTTP/1.1\r\nHost: a.example\r\n\r\n"])
async def test_what_is_said_in_a_tunnel_is_held_against_its_name(lab: EgressLab, proxy: ProxyLab, inside: bytes) -> None:
    lab.rules(lab.allow("a.example", "b.example"))
    await lab.serve(443)
    answer = await proxy.said(CONNECT % (b"a.example", 443), inside)
    assert answer.removeprefix(ESTABLISHED).startswith((ACCESS_DENIED, b"HTTP/1.1 403"))
    assert 443 not in lab.heard


async def test_an_allowed_name_that_resolves_to_a_private_address_is_refused_in_its_tunnel(lab: EgressLab, proxy: ProxyLab) -> None:
    lab.rules(lab.allow("rebind.example"), outside=False)
    lab.hosts["rebind.example"] = ["10.0.0.1"]
    assert (await proxy.said(CONNECT % (b"rebind.example", 443), real("rebind.example"))).endswith(ACCESS_DENIED)
    assert (await lab.event("refused"))["rule"] == "protected"


async def test_a_server_may_speak_first_in_a_tunnel(lab: EgressLab, proxy: ProxyLab) -> None:
    lab.rules(lab.allow("ssh.example"))
    port = await lab.serve(greeting=b"SSH-2.0-x\r\n")
    async with asyncio.timeout(SECONDS):
        reader, writer = await proxy.tunnel(b"ssh.example", port)
        assert await reader.readline() == b"SSH-2.0-x\r\n"
        writer.close()


async def test_a_request_in_absolute_form_reaches_its_server_in_origin_form(lab: EgressLab, proxy: ProxyLab) -> None:
    lab.rules(lab.allow("a.example"))
    await lab.serve(80)
    sent = b"POST http://a.example/x HTTP/1.1\r\nHost: a.example\r\nProxy-Connection: keep-alive\r\nContent-Length: 4\r\n\r\nbody"
    assert await proxy.said(sent, count=5) == b"hello"
    assert lab.heard[80] == b"POST /x HTTP/1.1\r\nHost: a.example\r\nContent-Length: 4\r\nConnection: close\r\n\r\nbody"


async def test_the_field_host_cannot_name_another_server_than_the_target(lab: EgressLab, proxy: ProxyLab) -> None:
    lab.rules(lab.allow("a.example"))
    await lab.serve(80)
    assert await proxy.said(b"GET http://a.example/ HTTP/1.1\r\nHost: evil.example\r\n\r\n", count=5) == b"hello"
    assert b"evil" not in lab.heard[80]


async def test_a_second_request_to_another_host_on_one_connection_reaches_nobody(lab: EgressLab, proxy: ProxyLab) -> None:
    lab.rules(lab.allow("a.example", "b.example"))
    await lab.serve(80)
    first, second = (b"GET http://%s.example/ HTTP/1.1\r\nHost: %s.example\r\n\r\n" % (one, one) for one in (b"a", b"b"))
    await proxy.said(first + second)
    assert b"b.example" not in lab.heard.get(80, b"")
    assert (await lab.event("refused"))["rule"] == "mismatch"


async def test_methods_and_paths_are_compared_in_absolute_form(lab: EgressLab, proxy: ProxyLab) -> None:
    lab.rules(lab.allow("a.example", methods=["GET"], paths=["/open/*"]))
    await lab.serve(80)
    assert await proxy.said(b"GET http://a.example/open/x HTTP/1.1\r\n\r\n", count=5) == b"hello"
    assert (await proxy.said(b"POST http://a.example/open/x HTTP/1.1\r\n\r\n")).startswith(b"HTTP/1.1 403")


async def test_a_denied_name_in_absolute_form_gets_the_page(lab: EgressLab, proxy: ProxyLab) -> None:
    lab.rules({"action": "deny", "hosts": ["evil.example"], "name": "no evil"})
    answer = await proxy.said(b"GET http://evil.example/ HTTP/1.1\r\n\r\n")
    assert answer.startswith(b"HTTP/1.1 403")
    assert b"no evil" in answer


async def test_an_ask_waits_in_the_tunnel_and_goes_on_once_it_is_allowed(lab: EgressLab, proxy: ProxyLab) -> None:
    lab.rules(lab.allow("a.example") | {"action": "ask"})
    await lab.serve(443)
    async with asyncio.timeout(SECONDS):
        reader, writer = await proxy.tunnel(b"a.example", 443)
        writer.write(real("a.example"))
        asked = await lab.event("ask")
        lab.server.approvals.answer(asked["ask"], allowed=True)
        assert await reader.readexactly(5) == b"hello"
        writer.close()


async def test_socks_reaches_an_allowed_name(lab: EgressLab, proxy: ProxyLab) -> None:
    lab.rules(lab.allow("a.example"))
    await lab.serve(443)
    request = b"\5\1\0\3\x09a.example" + (443).to_bytes(2)
    back = await proxy.said(GREETING, request, real("a.example"), count=2 + 10 + 5)
    assert back == b"\5\0" + b"\5\0\0\1" + bytes(6) + b"hello"


async def test_socks_is_told_that_a_destination_is_not_allowed(proxy: ProxyLab) -> None:
    back = await proxy.said(GREETING, b"\5\1\0\3\x0cevil.example" + (443).to_bytes(2))
    assert back == b"\5\0" + b"\5\2\0\1" + bytes(6)


async def test_socks_is_told_that_udp_is_not_supported_and_that_a_password_is_not(proxy: ProxyLab) -> None:
    assert await proxy.said(GREETING, b"\5\3\0\1" + bytes(4) + b"\0\x35") == b"\5\0" + b"\5\7\0\1" + bytes(6)
    assert await proxy.said(b"\5\1\2") == b"\5\xff"


@pytest.mark.parametrize("sent", [b"GET / HTTP/1.1\r\nHost: a\r\n\r\n", b"GET ftp://a.example/ HTTP/1.1\r\n\r\n", b"x" * 40_000])
async def test_what_is_no_request_to_a_proxy_gets_400(proxy: ProxyLab, sent: bytes) -> None:
    assert (await proxy.said(sent)).startswith(b"HTTP/1.1 400 Bad Request")


async def test_a_client_that_says_nothing_is_reset(proxy: ProxyLab, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(explicit_proxy, "REQUEST_SECONDS", 0.05)
    with pytest.raises(ConnectionResetError):
        await proxy.said(b"CONNECT")


async def test_a_change_of_the_policy_cuts_a_tunnel(lab: EgressLab, proxy: ProxyLab) -> None:
    lab.rules(lab.allow("a.example"))
    await lab.serve(443)
    async with asyncio.timeout(SECONDS):
        reader, writer = await proxy.tunnel(b"a.example", 443)
        writer.write(real("a.example"))
        assert await reader.readexactly(5) == b"hello"
        lab.rules()
        assert lab.server.flows.judge_again() == 1
        assert await reader.read() == b""
        writer.close()
    assert str((await lab.event("close"))["address"]) == OUTSIDE


async def test_where_connections_are_redirected_too_a_tunnel_is_refused_as_they_are(lab: EgressLab) -> None:
    lab.rules(lab.allow("a.example"))
    request = b"\5\1\0\3\x0cevil.example" + (80).to_bytes(2)
    with socket.create_server(("127.0.0.1", 0)) as listener:
        lab.server.proxy(listener, refuses_at_once=False)
        back = await ProxyLab(lab, listener).said(GREETING, request, b"GET / HTTP/1.1\r\nHost: evil.example\r\n\r\n")
    head, _, body = back.removeprefix(b"\5\0" + b"\5\0\0\1" + bytes(6)).partition(b"\r\n\r\n")
    assert head.startswith(b"HTTP/1.1 403 "), back
    assert body == b"egress: evil.example:80: GET / is not allowed (default)\n"


async def test_socks_finds_no_name_that_nobody_can_have(lab: EgressLab, proxy: ProxyLab) -> None:
    lab.rules(default="allow")
    back = await proxy.said(GREETING, b"\5\1\0\3\x15sandbox-proxy.invalid" + (80).to_bytes(2))
    assert back == b"\5\0" + b"\5\4\0\1" + bytes(6)
