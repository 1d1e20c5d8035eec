"""Requests that a rule asks about: each waits for an answer of its own, in clear text and in TLS that is opened."""

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import pytest

from sandbox_server.drivers.egress.policy_document import read_grants
from sandbox_server.egress import http_exchange
from tests.egress.conftest import SECONDS, EgressLab
from tests.secret_servers import HOST, PLACEHOLDER, USERS, SecretLab, SecretServer, binding, plain, request, secret

pytestmark = pytest.mark.anyio
ASKS = {"action": "ask", "methods": ["GET", "POST", "PUT"], "paths": ["/**"], "name": "asks"}


@pytest.fixture
async def clear(lab: EgressLab) -> AsyncIterator[SecretServer]:
    """A server in clear text at port 80 of a host whose requests are asked about."""
    server = SecretServer(lambda asked, body: plain(bytes(asked.target) + b"|" + body))
    await server.start_clear(80)
    lab.rules({**lab.allow(HOST), **ASKS})
    yield server
    server.close()


async def answered(lab: EgressLab, *, allowed: bool = True) -> dict[str, object]:
    """Answer the next question; returns it."""
    asked = await lab.event("ask")
    assert lab.server.approvals.answer(asked["ask"], allowed=allowed)
    return asked


@pytest.mark.parametrize("pipelined", [False, True])
async def test_each_request_of_a_connection_waits_for_its_own_answer(lab: EgressLab, clear: SecretServer, pipelined: bool) -> None:
    first, second = (request(target=f"/transfer?to={name}", closes=False) for name in ("alice", "mallory"))
    async with asyncio.timeout(SECONDS):
        reader, writer = await lab.connect(HOST, 80)
        writer.write(first + second if pipelined else first)
        asked = await answered(lab)
        assert (asked["method"], asked["target"]) == ("GET", "/transfer?to=alice")
        assert await reader.readuntil(b"alice|")
        if not pipelined:
            writer.write(second)
        asked = await answered(lab, allowed=False)
        assert (asked["method"], asked["target"]) == ("GET", "/transfer?to=mallory")
        assert b"needs an approval, and nobody gave it" in await reader.read()
        writer.close()
    assert [bytes(each.target) for each, _ in clear.heard] == [b"/transfer?to=alice"]


async def test_the_same_request_again_is_asked_about_again(lab: EgressLab, clear: SecretServer) -> None:
    for _ in range(2):
        said = asyncio.ensure_future(lab.said(HOST, 80, request(target="/a")))
        await answered(lab)
        assert (await said).endswith(b"/a|")


async def test_two_who_ask_for_the_same_at_once_are_two_questions(lab: EgressLab, clear: SecretServer) -> None:
    said = [asyncio.ensure_future(lab.said(HOST, 80, request(target="/a"))) for _ in range(2)]
    await answered(lab)
    await answered(lab, allowed=False)
    assert sorted([b"needs an approval" in each for each in await asyncio.gather(*said)]) == [False, True]
    assert len(clear.heard) == 1


@pytest.mark.parametrize("chunked", [False, True])
async def test_the_body_is_part_of_what_is_asked_about_and_arrives_as_it_was(lab: EgressLab, clear: SecretServer, chunked: bool) -> None:
    sent = request(method="POST", target="/pay", body=b"to=alice")
    if chunked:
        sent = request("Transfer-Encoding: chunked", method="POST", target="/pay") + b"8\r\nto=alice\r\n0\r\n\r\n"
    said = asyncio.ensure_future(lab.said(HOST, 80, sent))
    asked = await answered(lab)
    assert isinstance(asked["body"], dict)
    assert (asked["body"]["text"], asked["body"]["size"]) == ("to=alice", 8)
    assert (await said).endswith(b"/pay|to=alice")


async def test_a_client_that_waits_to_be_told_sends_its_body(lab: EgressLab, clear: SecretServer) -> None:
    async with asyncio.timeout(SECONDS):
        reader, writer = await lab.connect(HOST, 80)
        head, _, body = request("Expect: 100-continue", method="PUT", target="/x", body=b"content").partition(b"\r\n\r\n")
        writer.write(head + b"\r\n\r\n")
        assert b" 100 " in await reader.readuntil(b"\r\n\r\n")
        writer.write(body)
        await answered(lab)
        assert (await reader.read()).endswith(b"/x|content")
        writer.close()
    assert "expect" not in clear.fields()


async def test_a_websocket_is_told_to_be_one(lab: EgressLab, clear: SecretServer) -> None:
    """In it anything may follow, and nobody is asked about that."""
    clear.respond = lambda *_: (101, [("Upgrade", "websocket"), ("Connection", "Upgrade")], [b"frames"])
    async with asyncio.timeout(SECONDS):
        reader, writer = await lab.connect(HOST, 80)
        writer.write(request("Upgrade: websocket", "Connection: Upgrade", closes=False))
        assert (await answered(lab))["websocket"] is True
        assert await reader.readuntil(b"frames")
        writer.close()


async def test_a_body_that_nobody_can_be_asked_about_whole_is_refused(
    lab: EgressLab, clear: SecretServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(http_exchange, "MAX_BODY", 4)
    assert b"is larger than 4 bytes" in await lab.said(HOST, 80, request(method="POST", body=b"large"))
    assert clear.heard == []


async def test_a_target_is_told_whole(lab: EgressLab, clear: SecretServer) -> None:
    """It was cut at 200 characters, without a mark."""
    target = "/a?" + "x" * 500
    said = asyncio.ensure_future(lab.said(HOST, 80, request(target=target)))
    asked = await answered(lab)
    assert asked["target"] == target
    assert str(asked["request"]).endswith("x\N{HORIZONTAL ELLIPSIS}")
    await said


async def test_a_decision_that_became_a_denial_meanwhile_counts(lab: EgressLab, clear: SecretServer) -> None:
    said = asyncio.ensure_future(lab.said(HOST, 80, request(target="/a")))
    asked = await lab.event("ask")
    lab.rules({**lab.allow(HOST), "action": "deny", "name": "closed"})
    assert lab.server.approvals.answer(asked["ask"], allowed=True)
    assert b"is not allowed (closed)" in await said
    assert clear.heard == []


async def test_another_rule_that_asks_by_then_is_asked_about_too(lab: EgressLab, clear: SecretServer) -> None:
    said = asyncio.ensure_future(lab.said(HOST, 80, request(target="/a")))
    asked = await lab.event("ask")
    lab.rules({**lab.allow(HOST), **ASKS, "name": "other"})
    assert lab.server.approvals.answer(asked["ask"], allowed=True)
    assert (await answered(lab))["rule"] == "other"
    assert (await said).endswith(b"/a|")


@pytest.mark.parametrize("sent", [request(method="post"), request(target="//a"), request("X-HTTP-Method-Override: DELETE", method="POST")])
async def test_what_has_two_readings_is_asked_of_nobody(lab: EgressLab, clear: SecretServer, sent: bytes) -> None:
    assert b"has two readings: its" in await lab.said(HOST, 80, sent)
    assert (clear.heard, lab.server.approvals.open) == ([], [])


async def test_within_tls_the_same_holds(opened: SecretLab) -> None:
    opened.lab.rules({**opened.lab.allow(HOST), **ASKS, "ports": [opened.server.port], "protocols": ["tls"]})
    said = asyncio.ensure_future(opened.ask(request(target="/a?b=c", method="POST", body=b"x=y", closes=False) + request(target="/d")))
    asked = await answered(opened.lab)
    assert (asked["method"], asked["target"], asked["protocol"]) == ("POST", "/a?b=c", "tls")
    assert (await answered(opened.lab, allowed=False))["target"] == "/d"
    assert (await said).count(b"HTTP/1.1 200") == 1
    assert [(bytes(each.target), body) for each, body in opened.server.heard] == [(b"/a?b=c", b"x=y")]


async def test_within_tls_a_denial_meanwhile_counts(opened: SecretLab) -> None:
    """The first request of a connection was looked at again, each later one was not."""
    place: dict[str, Any] = {"ports": [opened.server.port], "protocols": ["tls"]}
    opened.lab.rules({**opened.lab.allow(HOST), **ASKS, **place})
    said = asyncio.ensure_future(opened.ask(request(target="/a", closes=False) + request(target="/b")))
    await answered(opened.lab)
    asked = await opened.lab.event("ask")
    opened.lab.rules({**opened.lab.allow(HOST), **place, "methods": ["POST"]})
    opened.lab.server.approvals.answer(asked["ask"], allowed=True)
    assert b"is not allowed (default)" in await said
    assert [bytes(each.target) for each, _ in opened.server.heard] == [b"/a"]


async def test_a_secret_does_not_go_into_a_request_in_clear_text(lab: EgressLab, opened: SecretLab, clear: SecretServer) -> None:
    opened.broker.replace([secret(binding(f"{HOST}:80"))], USERS)
    lab.rules({**lab.allow(HOST), **ASKS})
    said = asyncio.ensure_future(lab.said(HOST, 80, request(f"Authorization: Bearer {PLACEHOLDER}")))
    await answered(lab)
    await said
    assert clear.fields()["authorization"] == f"Bearer {PLACEHOLDER}"


@pytest.mark.parametrize(
    ("sent", "passes"),
    [
        (request(target="/a?b=c"), True),
        (request(target="/a?b=d"), False),
        (request(target="/%61?b=c"), False),
        (request(target="/a?b=c", body=b"x"), False),
        (request(target="/a?b=c", method="POST"), False),
        (request("X-Original-URL: /z", target="/a?b=c"), False),
        (request("Upgrade: websocket", "Connection: Upgrade", target="/a?b=c", closes=False), False),
    ],
)
async def test_a_rule_of_an_approval_is_for_the_request_that_was_shown_alone(
    lab: EgressLab, clear: SecretServer, sent: bytes, passes: bool
) -> None:
    rule = {"name": "approval g1", "action": "allow", "hosts": [HOST], "ports": [80], "methods": ["GET"], "targets": ["/a?b=c"]}
    lab.server.policy.policy = lab.server.policy._own = lab.policy.policy
    lab.server.policy.grant(read_grants([rule]))
    lab.server.approvals.wait(1.0)
    assert (b"HTTP/1.1 200" in await lab.said(HOST, 80, sent)) is passes
