"""Flows whose requests are judged one by one, and those that somebody is asked about."""

import asyncio

import pytest

from sandbox_server.drivers.egress.policy import Destination
from sandbox_server.drivers.egress.policy_document import read_policy
from sandbox_server.egress import approvals
from sandbox_server.egress.flow_events import FlowEvents
from sandbox_server.egress.refusals import ACCESS_DENIED
from tests.client_hellos import real
from tests.egress.conftest import EgressLab

pytestmark = pytest.mark.anyio
REQUEST = b"GET /x HTTP/1.1\r\nHost: %s\r\n\r\n"


async def test_a_rule_that_asks_waits_for_the_answer(lab: EgressLab) -> None:
    lab.rules({**lab.allow("a.example"), "action": "ask"})
    await lab.serve(80)
    said = [asyncio.ensure_future(lab.said("a.example", 80, REQUEST % b"a.example", 5)) for _ in range(2)]
    asked = await lab.event("ask")
    assert asked["destination"] == "a.example:80"
    assert lab.server.approvals.answer(asked["ask"], allowed=True)
    assert await asyncio.gather(*said) == [b"hello", b"hello"]
    assert not lab.server.approvals.answer(asked["ask"], allowed=True)


@pytest.mark.parametrize("answered", [True, False])
async def test_a_question_that_is_denied_or_not_answered_is_a_refusal(lab: EgressLab, answered: bool) -> None:
    lab.rules({**lab.allow("a.example"), "action": "ask"})
    lab.server.approvals._seconds = 30 if answered else 0.05
    said = asyncio.ensure_future(lab.said("a.example", 80, REQUEST % b"a.example"))
    asked = await lab.event("ask")
    if answered:
        lab.server.approvals.answer(asked["ask"], allowed=False)
    assert b"needs an approval" in await said
    assert lab.asked == []


async def test_so_many_questions_are_open_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(approvals, "MAX_OPEN", 0)
    assert not await approvals.Approvals(FlowEvents()).ask(Destination(80, "a"), "rule")


async def test_a_rule_about_requests_refuses_what_cannot_be_read(lab: EgressLab) -> None:
    lab.rules(lab.allow("a.example", methods=["GET"], protocols=["http", "tls"]))
    assert await lab.said("a.example", 443, real("b.example")) == ACCESS_DENIED
    assert "asks for 'b.example'" in str((await lab.event("refused"))["reason"])


async def test_a_rule_about_requests_holds_for_each_request_in_clear_text(lab: EgressLab) -> None:
    lab.rules(lab.allow("a.example", methods=["GET"], paths=["/v1/**"]))
    await lab.serve(80)
    good = b"GET /v1/x HTTP/1.1\r\nHost: a.example\r\n\r\n"
    assert b"POST /v1/x is not allowed" in await lab.said("a.example", 80, good.replace(b"GET", b"POST"))
    async with asyncio.timeout(20):
        reader, writer = await lab.connect("a.example", 80)
        for _ in range(2):
            writer.write(good)
            assert await reader.readexactly(5) == b"hello"
        writer.write(good.replace(b"/v1/x", b"/v2/x"))
        assert await reader.read() == b""
        writer.close()
    assert lab.heard[80] == good * 2


@pytest.mark.parametrize("late", [False, True])
async def test_a_second_request_for_another_server_never_arrives(lab: EgressLab, late: bool) -> None:
    lab.rules(lab.allow("a.example", protocols=["http", "tcp"]))
    port = await lab.serve(greeting=b"x" * late)
    async with asyncio.timeout(20):
        reader, writer = await lab.connect("a.example", port)
        if late:
            await reader.readexactly(1)
        writer.write(REQUEST % b"a.example")
        assert await reader.readexactly(5) == b"hello"
        writer.write(REQUEST % b"evil.example")
        assert await reader.read() == b""
        writer.close()
    assert lab.heard[port] == REQUEST % b"a.example"
    assert (await lab.event("refused"))["rule"] == "mismatch"


async def test_a_second_request_in_the_same_packet_never_arrives_either(lab: EgressLab) -> None:
    lab.rules(lab.allow("a.example"))
    await lab.serve(80)
    await lab.said("a.example", 80, REQUEST % b"a.example" + REQUEST % b"evil.example")
    assert 80 not in lab.heard


SOCKET = b"GET /ws HTTP/1.1\r\nHost: a.example\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\r\n"


async def test_a_websocket_passes_once_its_server_agrees(lab: EgressLab) -> None:
    lab.rules(lab.allow("a.example"))
    answer = b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\n\r\n"
    await lab.serve(80, answer=answer)
    async with asyncio.timeout(20):
        reader, writer = await lab.connect("a.example", 80)
        writer.write(SOCKET + b"frame")
        assert await reader.readexactly(2 * len(answer)) == answer * 2
        writer.close()
    assert lab.heard[80] == SOCKET + b"frame"


async def test_what_follows_a_websocket_that_its_server_refuses_is_a_request(lab: EgressLab) -> None:
    lab.rules(lab.allow("a.example"))
    await lab.serve(80, answer=b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n")
    await lab.said("a.example", 80, SOCKET + REQUEST % b"evil.example")
    assert lab.heard[80] == SOCKET
    assert (await lab.event("refused"))["rule"] == "mismatch"


async def test_an_approval_is_for_the_rule_that_asked(lab: EgressLab) -> None:
    asks = {**lab.allow("a.example"), "action": "ask", "methods": ["POST"], "paths": ["/x"]}
    lab.rules(asks, {**asks, "action": "deny", "paths": ["/y"]})
    answer = b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello"
    await lab.serve(80, answer=answer)
    sent = b"POST /x HTTP/1.1\r\nHost: a.example\r\nContent-Length: 0\r\n\r\n"
    async with asyncio.timeout(20):
        reader, writer = await lab.connect("a.example", 80)
        writer.write(sent)
        asked = await lab.event("ask")
        assert asked["request"] == "POST /x"
        lab.server.approvals.answer(asked["ask"], allowed=True)
        assert await reader.readuntil(b"hello")
        writer.write(sent.replace(b"/x", b"/y"))
        assert b"POST /y is not allowed" in await reader.read()
        writer.close()
    assert b"/y" not in lab.heard[80]


async def test_a_rule_about_requests_does_not_open_another_host(lab: EgressLab) -> None:
    lab.rules(lab.allow("a.example", methods=["GET"]))
    await lab.serve(80)
    assert (await lab.said("a.example", 80, REQUEST % b"evil.example")).startswith(b"HTTP/1.1 403")
    assert lab.asked == []


@pytest.mark.parametrize(
    ("more", "made"),
    [
        ({"paths": ["/read/**"]}, True),
        ({"methods": ["GET"], "protocols": ["tls"]}, True),
        ({"methods": ["GET"], "protocols": ["http"]}, False),
        ({}, False),
    ],
)
async def test_programs_may_trust_the_authority_before_they_connect_to_an_opened_host(
    lab: EgressLab, more: dict[str, object], made: bool
) -> None:
    lab.policy.replace("{}", read_policy({"rules": [lab.allow("a.example", **more)]}))
    assert lab.server.broker.has_authority is made
    with lab.server.events.follow("secrets") as follower:  # from the start on
        assert ("authority" in [event["event"] for event in follower.take()]) is made
