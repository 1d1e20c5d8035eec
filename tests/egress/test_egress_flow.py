import asyncio
import os
import time

import pytest

from sandbox_server.egress import egress_flow
from sandbox_server.egress.refusals import ACCESS_DENIED
from tests.client_hellos import real
from tests.egress.conftest import OUTSIDE, EgressLab
from tests.patience import eventually

pytestmark = pytest.mark.anyio
REQUEST = b"GET /x HTTP/1.1\r\nHost: %s\r\n\r\n"


async def test_an_allowed_name_is_reached_with_what_the_client_said(lab: EgressLab) -> None:
    lab.rules(lab.allow("a.example"))
    await lab.serve(80)
    assert await lab.said("a.example", 80, REQUEST % b"a.example", 5) == b"hello"
    assert lab.heard[80] == REQUEST % b"a.example"
    opened = await lab.event("open")
    assert (opened["destination"], opened["address"], opened["protocol"], opened["rule"]) == ("a.example:80", OUTSIDE, "http", "rule 0")
    closed = await lab.event("close")
    assert (closed["sent"], closed["received"]) == (len(REQUEST % b"a.example"), 5)
    assert not lab.server.flows.open


async def test_an_allowed_name_is_reached_by_tls_to_the_byte(lab: EgressLab) -> None:
    lab.rules(lab.allow("a.example"))
    await lab.serve(443)
    hello = real("a.example")
    assert await lab.said("a.example", 443, hello, 5) == b"hello"
    assert lab.heard[443] == hello


async def test_a_denied_name_is_told_by_http_which_rule_denies_it_and_is_never_resolved(lab: EgressLab) -> None:
    lab.rules({"action": "deny", "hosts": ["evil.example"], "name": "no evil"})
    answer = await lab.said("evil.example", 80, REQUEST % b"evil.example")
    head, _, body = answer.partition(b"\r\n\r\n")
    assert head.startswith(b"HTTP/1.1 403 Forbidden\r\n")
    assert b"evil.example:80" in body
    assert b"no evil" in body
    assert lab.asked == []
    refused = await lab.event("refused")
    assert (refused["destination"], refused["rule"]) == ("evil.example:80", "no evil")
    said = [refused[name] for name in ("host", "port", "protocol", "request", "uid", "inode")]
    assert said == ["evil.example", 80, "http", "GET /x", None, 0]


async def test_a_refusal_is_an_event_before_its_program_knows(lab: EgressLab, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(egress_flow, "TOLD_SECONDS", 20)
    said = asyncio.ensure_future(lab.said("evil.example", 80, REQUEST % b"evil.example"))
    await lab.event("refused")
    assert not said.done()
    said.cancel()


async def test_a_denied_name_is_told_by_tls_that_access_is_denied(lab: EgressLab) -> None:
    assert await lab.said("evil.example", 443, real("evil.example")) == ACCESS_DENIED


async def test_any_other_denied_connection_is_reset(lab: EgressLab) -> None:
    with pytest.raises(ConnectionResetError):
        await lab.said("evil.example", 22, b"SSH-2.0-x\r\n")


async def test_a_denied_client_that_says_nothing_is_reset_soon(lab: EgressLab, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(egress_flow, "DENIED_SECONDS", 0.05)
    with pytest.raises(ConnectionResetError):
        await lab.said("evil.example", 22, b"")


@pytest.mark.parametrize(
    ("sent", "port", "back"),
    [
        (REQUEST % b"evil.example", 80, b"HTTP/1.1 403"),
        (b"GET http://evil.example/ HTTP/1.1\r\nHost: a.example\r\n\r\n", 80, b"HTTP/1.1 403"),
        (b"CONNECT evil.example:443 HTTP/1.1\r\nHost: a.example\r\n\r\n", 80, b"HTTP/1.1 403"),
        (real("b.example"), 443, ACCESS_DENIED),
        (real(None), 443, ACCESS_DENIED),
        (REQUEST % b"a.example", 443, b"HTTP/1.1 403"),
    ],
)
async def test_who_asks_another_server_by_an_allowed_names_address_is_refused(lab: EgressLab, sent: bytes, port: int, back: bytes) -> None:
    lab.rules(lab.allow("a.example", "b.example"))
    await lab.serve(port)
    assert (await lab.said("a.example", port, sent)).startswith(back)
    assert port not in lab.heard


async def test_an_address_is_decided_by_networks_alone(lab: EgressLab) -> None:
    lab.rules(lab.allow("*"))
    port = await lab.serve()
    assert await lab.said(OUTSIDE, port, b"\0x", 5) == b"hello"
    lab.rules(lab.allow("*"), outside=False)
    with pytest.raises(ConnectionResetError):
        await lab.said(OUTSIDE, port, b"\0x")
    assert (await lab.said("169.254.169.254", 80, REQUEST % b"169.254.169.254")).startswith(b"HTTP/1.1 403")
    assert (await lab.event("refused"))["rule"] == "protected"


async def test_a_synthetic_address_without_a_name_is_refused(lab: EgressLab) -> None:
    lab.rules(default="allow")
    with pytest.raises(ConnectionResetError):
        await lab.said("198.19.1.1", 80, REQUEST % b"a.example")


@pytest.mark.parametrize("address", ["127.0.0.1", "10.0.0.1", "169.254.169.254", "172.17.0.1", "::1", "fd00::1", "::ffff:127.0.0.1"])
async def test_an_allowed_name_that_resolves_to_a_private_address_is_refused(lab: EgressLab, address: str) -> None:
    lab.rules(lab.allow("rebind.example"), outside=False)
    lab.hosts["rebind.example"] = [address]
    answer = await lab.said("rebind.example", 80, REQUEST % b"rebind.example")
    assert answer.startswith(b"HTTP/1.1 403")
    assert b"(protected)" in answer


async def test_of_a_names_addresses_those_that_may_be_dialled_are(lab: EgressLab) -> None:
    lab.rules(lab.allow("a.example"))
    await lab.serve(80)
    lab.hosts["a.example"] = ["10.0.0.1", OUTSIDE]
    assert await lab.said("a.example", 80, REQUEST % b"a.example", 5) == b"hello"


async def test_a_public_address_of_this_machine_is_refused(lab: EgressLab, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sandbox_server.egress.dialer.is_own", lambda address: str(address) == "8.8.8.8")
    lab.rules(lab.allow("self.example"))
    lab.hosts["self.example"] = ["8.8.8.8"]
    assert b"(protected)" in await lab.said("self.example", 80, REQUEST % b"self.example")


async def test_a_name_without_an_address_and_a_port_without_a_server_are_told_by_http(lab: EgressLab) -> None:
    lab.rules(lab.allow("a.example"))
    assert (await lab.said("a.example", 80, REQUEST % b"a.example")).startswith(b"HTTP/1.1 502")
    del lab.hosts["a.example"]
    answer = await lab.said("a.example", 80, REQUEST % b"a.example")
    assert answer.startswith(b"HTTP/1.1 502")


async def test_a_server_that_speaks_first_is_given_the_word(lab: EgressLab) -> None:
    lab.rules(lab.allow("ssh.example"))
    port = await lab.serve(greeting=b"SSH-2.0-server\r\n")
    async with asyncio.timeout(20):
        reader, writer = await lab.connect("ssh.example", port)
        assert await reader.readline() == b"SSH-2.0-server\r\n"
        writer.write(b"SSH-2.0-client\r\n")
        assert await reader.readexactly(5) == b"hello"
        writer.close()
    assert lab.heard[port] == b"SSH-2.0-client\r\n"


@pytest.mark.parametrize("sent", [real("evil.example"), REQUEST % b"evil.example"])
async def test_what_is_said_late_is_held_against_the_name_all_the_same(lab: EgressLab, sent: bytes) -> None:
    lab.rules(lab.allow("ssh.example"))
    port = await lab.serve(greeting=b"x")
    async with asyncio.timeout(20):
        reader, writer = await lab.connect("ssh.example", port)
        assert await reader.readexactly(1) == b"x"
        writer.write(sent[:10])
        writer.write(sent[10:])
        assert await reader.read() == b""
        writer.close()
    assert port not in lab.heard
    assert (await lab.event("refused"))["rule"] == "mismatch"


async def test_a_message_that_does_not_come_to_an_end_is_refused(lab: EgressLab, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(egress_flow, "HELLO_SECONDS", 0.05)
    lab.rules(lab.allow("a.example"))
    port = await lab.serve(greeting=b"x")
    assert await lab.said("a.example", 443, real("a.example")[:50]) == ACCESS_DENIED
    reader, writer = await lab.connect("a.example", port)
    async with asyncio.timeout(20):
        assert await reader.readexactly(1) == b"x"
        writer.write(b"GET /")
        assert await reader.read() == b""
    writer.close()


async def test_what_comes_just_when_the_server_is_given_the_word_is_not_lost(lab: EgressLab, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(egress_flow, "SPEAKS_FIRST_SECONDS", 0.3)
    lab.rules(lab.allow("a.example"))
    port = await lab.serve()
    async with asyncio.timeout(20):
        reader, writer = await lab.connect("a.example", port)
        await eventually(lambda: len(lab.server._connections) == 1)
        writer.write(REQUEST % b"a.example")
        time.sleep(0.4)
        assert await reader.readexactly(5) == b"hello"
    writer.close()
    assert lab.heard[port] == REQUEST % b"a.example"


async def test_a_first_message_that_comes_a_byte_at_a_time_has_no_more_time(lab: EgressLab, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(egress_flow, "HELLO_SECONDS", 0.2)
    lab.rules(lab.allow("a.example"))
    reader, writer = await lab.connect("a.example", 80)

    async def drip() -> None:
        while True:
            writer.write(b"G")
            await asyncio.sleep(0.01)

    dripping = asyncio.ensure_future(drip())
    try:
        with pytest.raises(ConnectionResetError):
            await asyncio.wait_for(reader.read(), 20)
    finally:
        dripping.cancel()
        writer.close()


async def test_a_policy_that_denies_a_flow_now_cuts_it_and_no_other(lab: EgressLab) -> None:
    lab.rules(lab.allow("a.example"), lab.allow("b.example"))
    await lab.serve(80)
    async with asyncio.timeout(20):
        flows = {}
        for name in ("a.example", "b.example"):
            reader, writer = flows[name] = await lab.connect(name, 80)
            writer.write(REQUEST % name.encode())
            assert await reader.readexactly(5) == b"hello"
        lab.rules(lab.allow("b.example"))
        assert lab.server.flows.judge_again() == 1
        assert await flows["a.example"][0].read() == b""
        reader, writer = flows["b.example"]
        writer.write(REQUEST % b"b.example")
        assert await reader.readexactly(5) == b"hello"
        for _, writer in flows.values():
            writer.close()


async def test_a_flow_ends_with_the_time_of_its_rule(lab: EgressLab) -> None:
    loop, ahead = asyncio.get_running_loop(), [0.0]
    lab.policy._clock = lambda: loop.time() + ahead[-1]
    until = loop.time() + 600
    lab.rules(lab.allow("a.example", until=until))
    lab.policy.on_change()
    await lab.serve(80)
    async with asyncio.timeout(20):
        reader, writer = await lab.connect("a.example", 80)
        writer.write(REQUEST % b"a.example")
        assert await reader.readexactly(5) == b"hello"
        ahead.append(until - loop.time() - 0.5)
        lab.policy.on_change()
        assert await reader.read() == b""
        writer.close()
    assert (await lab.event("close"))["reason"] == "the policy changed"


async def test_learning_relays_and_notes(lab: EgressLab) -> None:
    lab.hosts["new.example"] = [OUTSIDE]
    lab.rules(mode="learn")
    await lab.serve(80)
    assert await lab.said("new.example", 80, REQUEST % b"new.example", 5) == b"hello"
    opened = await lab.event("open")
    assert (opened["learned"], opened["rule"]) == (True, "default")


async def test_a_name_keeps_its_address_while_its_flow_is_open(lab: EgressLab) -> None:
    lab.names._capacity = 2
    lab.rules(lab.allow("a.example"))
    await lab.serve(80)
    address = lab.names.address_of("a.example")
    async with asyncio.timeout(20):
        reader, writer = await lab.connect("a.example", 80)
        writer.write(REQUEST % b"a.example")
        await reader.readexactly(5)
        for number in range(10):
            lab.names.address_of(f"n{number}")
        assert lab.names.name_of(address) == "a.example"
        writer.close()
    await lab.event("close")
    for number in range(10):
        lab.names.address_of(f"m{number}")
    assert lab.names.name_of(address) is None


async def test_a_flow_in_which_nothing_moves_is_cut(lab: EgressLab) -> None:
    lab.rules(lab.allow("a.example"))
    await lab.serve(80)
    async with asyncio.timeout(20):
        reader, writer = await lab.connect("a.example", 80)
        writer.write(REQUEST % b"a.example")
        await reader.readexactly(5)
        lab.server.flows.cut_idle(asyncio.get_running_loop().time() - 100)
        assert len(lab.server.flows.open) == 1
        lab.server.flows.cut_idle(asyncio.get_running_loop().time() + 1)
        assert await reader.read() == b""
        writer.close()
    assert (await lab.event("close"))["reason"] == "idle"


async def test_what_is_said_before_a_decision_is_bounded_for_all_together(lab: EgressLab, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(egress_flow, "MAX_HELD", 100)
    monkeypatch.setattr(egress_flow, "MAX_SMALL", 10)
    lab.rules(lab.allow("a.example"))
    await lab.serve(80)
    _, writer = await lab.connect("a.example", 80)
    writer.write(b"GET /" + b"x" * 75)
    await eventually(lambda: lab.server.flows._held == 80)
    with pytest.raises(ConnectionResetError):
        await lab.said("a.example", 80, REQUEST % b"a.example")
    writer.close()
    await eventually(lambda: lab.server.flows._held == 0)
    assert await lab.said("a.example", 80, REQUEST % b"a.example", 5) == b"hello"
    assert lab.server.flows._held == 0


async def test_a_short_request_is_heard_however_much_others_have_said(lab: EgressLab, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(egress_flow, "MAX_HELD", 100)
    lab.rules(lab.allow("a.example"))
    await lab.serve(80)
    _, writer = await lab.connect("a.example", 80)
    writer.write(b"GET /" + b"x" * 500)
    await eventually(lambda: lab.server.flows._held == 505)
    assert await lab.said("a.example", 80, REQUEST % b"a.example", 5) == b"hello"
    writer.close()


async def test_a_client_that_hangs_up_before_it_says_anything_leaves_nothing(lab: EgressLab) -> None:
    lab.rules(lab.allow("a.example"))
    _, writer = await lab.connect("a.example", 443)
    writer.close()
    await eventually(lambda: not len(lab.server._connections))
    assert lab.asked == []


async def test_hundreds_of_connections_leave_no_descriptor(lab: EgressLab) -> None:
    lab.rules(lab.allow("a.example"))
    await lab.serve(80)
    await lab.said("a.example", 80, REQUEST % b"a.example", 5)
    before = len(os.listdir("/proc/self/fd"))
    for _ in range(10):
        await asyncio.gather(*(lab.said("a.example", 80, REQUEST % b"a.example", 5) for _ in range(50)))
    await eventually(lambda: not len(lab.server._connections))
    assert len(os.listdir("/proc/self/fd")) <= before + 70  # pipes that are kept


@pytest.mark.parametrize("scheme", ["http", "socks5"])
async def test_a_rule_with_an_upstream_leaves_by_that_and_resolves_nothing_here(lab: EgressLab, scheme: str) -> None:
    heard: list[bytes] = []

    async def proxy(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        if scheme == "http":
            heard.append(await reader.readuntil(b"\r\n\r\n"))
            writer.write(b"HTTP/1.1 200 OK\r\n\r\n")
        else:
            heard.append(await reader.readexactly(3))
            writer.write(b"\5\0")
            heard.append(await reader.readexactly(5 + len("far.example") + 2))
            writer.write(b"\5\0\0\1\0\0\0\0\0\0")
        writer.write(await reader.read(100))
        writer.close()

    server = await asyncio.start_server(proxy, OUTSIDE, 0)
    place = f"{scheme}://proxy.example:{server.sockets[0].getsockname()[1]}"
    lab.hosts["proxy.example"] = [OUTSIDE]
    lab.rules({"action": "allow", "hosts": ["far.example"], "upstream": "home"}, upstreams={"home": place})
    hello = real("far.example")
    assert await lab.said("far.example", 443, hello, 20) == hello[:20]
    assert b"far.example" in b"".join(heard)
    assert lab.asked == ["proxy.example"]
    server.close()


async def test_an_upstream_that_is_gone_is_told(lab: EgressLab) -> None:
    lab.hosts["proxy.example"] = [OUTSIDE]
    lab.rules({"action": "allow", "hosts": ["far.example"], "upstream": "home"}, upstreams={"home": "http://u:secret@proxy.example:1"})
    answer = await lab.said("far.example", 80, REQUEST % b"far.example")
    assert answer.startswith(b"HTTP/1.1 502")
    assert b"secret" not in answer


async def test_policies_that_change_under_load_let_nothing_through_that_they_deny(lab: EgressLab) -> None:
    lab.hosts["evil.example"] = [OUTSIDE]
    await lab.serve(80)
    answers: list[bytes] = []

    async def ask(name: str) -> None:
        try:
            answers.append(await lab.said(name, 80, REQUEST % name.encode(), 5))
        except (ConnectionError, asyncio.IncompleteReadError):
            answers.append(b"cut")

    for number in range(20):
        lab.rules(lab.allow("a.example"), *([] if number % 2 else [{"action": "deny", "hosts": ["evil.example"]}]))
        asking = [asyncio.ensure_future(ask(name)) for name in ("a.example", "evil.example") * 5]
        await asyncio.sleep(0)
        lab.rules() if number % 3 else lab.rules(lab.allow("a.example"))
        lab.server.flows.judge_again()
        await asyncio.gather(*asking)
    assert len(answers) == 200
    assert b"evil.example" not in lab.heard.get(80, b"")
