import asyncio
import json
import os
from collections.abc import AsyncIterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from sandbox_server.drivers.egress.egress_client import EgressClient
from sandbox_server.egress import control_socket, flow_events
from tests.egress.conftest import EgressLab
from tests.patience import eventually

pytestmark = pytest.mark.anyio
REQUEST = b"GET /x HTTP/1.1\r\nHost: a.example\r\n\r\n"


class Line:
    """A connection to the control socket."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.reader, self.writer = reader, writer

    async def ask(self, op: str, **fields: Any) -> dict[str, Any]:
        """The answer to a request."""
        self.writer.write(json.dumps({"op": op, **fields}).encode() + b"\n")
        return await self.heard()

    async def heard(self) -> dict[str, Any]:
        """The next line."""
        async with asyncio.timeout(20):
            found: dict[str, Any] = json.loads(await self.reader.readline())
        return found


@pytest.fixture
async def path(lab: EgressLab, tmp_path: Path) -> AsyncIterator[str]:
    found = str(tmp_path / "egress.sock")
    server = await lab.server.control(found)
    yield found
    server.close()


@pytest.fixture
async def line(path: str) -> AsyncIterator[Line]:
    made = Line(*await asyncio.open_unix_connection(path))
    yield made
    made.writer.close()


async def test_a_policy_is_put_in_force_and_cuts_what_it_denies(lab: EgressLab, line: Line) -> None:
    outside = {"action": "allow", "cidrs": ["127.0.9.0/24"], "protocols": ["http"]}
    assert await line.ask("policy", policy=json.dumps({"rules": [lab.allow("a.example"), outside]})) == {"ok": {"cut": 0}}
    await lab.serve(80)
    reader, writer = await lab.connect("a.example", 80)
    writer.write(REQUEST)
    async with asyncio.timeout(20):
        assert await reader.readexactly(5) == b"hello"
        [flow] = (await line.ask("flows"))["ok"]["flows"]
        assert (flow["destination"], flow["rule"], flow["sent"]) == ("a.example:80", "rule 0", len(REQUEST))
        assert await line.ask("policy", policy=json.dumps({})) == {"ok": {"cut": 1}}
        assert await reader.read() == b""
    writer.close()


async def test_a_policy_that_is_wrong_is_refused_by_field_and_the_old_one_stands(lab: EgressLab, line: Line) -> None:
    await line.ask("policy", policy=json.dumps({"default": "allow"}))
    answer = await line.ask("policy", policy=json.dumps({"rules": [{"action": "permit", "hosts": ["a"]}]}))
    assert answer["errors"] == [{"pointer": "/rules/0/action", "message": "must be one of allow, ask, deny"}]
    assert (await line.ask("status"))["ok"]["default"] == "allow"


async def test_a_policy_that_cannot_be_kept_is_refused(lab: EgressLab, line: Line) -> None:
    lab.policy._path = "/proc/none/policy.json"
    assert "cannot be kept" in (await line.ask("policy", policy=json.dumps({"default": "allow"})))["refused"]
    assert (await line.ask("status"))["ok"]["default"] == "deny"


async def test_others_may_ask_what_the_policy_says(line: Line) -> None:
    await line.ask("policy", policy=json.dumps({"rules": [{"action": "allow", "hosts": ["a.example"], "name": "docs"}]}))
    decided = {host: (await line.ask("decide", host=host, port=443))["ok"] for host in ("A.example", "b.example", "169.254.169.254", "::1")}
    assert decided["A.example"] == {"action": "allow", "rule": "docs", "learned": False}
    assert [decided[host]["rule"] for host in ("b.example", "169.254.169.254", "::1")] == ["default", "protected", "protected"]


async def test_rules_hold_for_tasks_that_run(line: Line) -> None:
    await line.ask("policy", policy=json.dumps({"rules": [{"action": "allow", "hosts": ["a"], "task": "t"}]}))
    for running, action in ((["t"], "allow"), ([], "deny")):
        assert await line.ask("tasks", running=running) == {"ok": {"cut": 0}}
        assert (await line.ask("decide", host="a", port=443))["ok"]["action"] == action


async def test_the_document_in_force_is_given_back_and_rules_of_approvals_are_no_part_of_it(lab: EgressLab, line: Line) -> None:
    assert await line.ask("document") == {"ok": {"policy": "{}"}}
    document = {"default": "deny", "rules": [{"action": "deny", "hosts": ["a.example"], "name": "no"}]}
    await line.ask("policy", policy=json.dumps(document))
    granted = [{"action": "allow", "hosts": ["a.example"], "name": "approved"}]
    assert await line.ask("grants", rules=granted) == {"ok": {"cut": 0}}
    assert (await line.ask("decide", host="a.example", port=443))["ok"]["rule"] == "approved"
    assert await line.ask("document") == {"ok": {"policy": json.dumps(document)}}
    status = (await line.ask("status"))["ok"]
    assert (status["rules"], status["grants"], status["asking"]) == (1, 1, 0)
    await line.ask("policy", policy=json.dumps({**document, "default": "allow"}))
    assert (await line.ask("decide", host="a.example", port=443))["ok"]["rule"] == "approved"
    await line.ask("grants", rules=[])
    assert (await line.ask("decide", host="a.example", port=443))["ok"]["rule"] == "no"


async def test_rules_of_approvals_that_are_wrong_change_nothing(line: Line) -> None:
    await line.ask("grants", rules=[{"action": "allow", "hosts": ["a.example"], "name": "approved"}])
    assert (await line.ask("grants", rules=[{"action": "permit", "hosts": ["a"]}]))["errors"][0]["pointer"] == "/rules/0/action"
    many = [{"action": "allow", "hosts": [f"h{number}.example"]} for number in range(257)]
    assert "at most 256" in (await line.ask("grants", rules=many))["refused"]
    assert (await line.ask("decide", host="a.example", port=443))["ok"]["rule"] == "approved"


async def test_a_question_that_is_open_is_told_to_who_follows_later(lab: EgressLab, line: Line, path: str) -> None:
    lab.rules({**lab.allow("a.example"), "action": "ask"})
    said = asyncio.ensure_future(lab.said("a.example", 80, REQUEST, 5))
    asked = await lab.event("ask")
    assert (asked["host"], asked["port"], asked["protocol"], asked["request"]) == ("a.example", 80, "http", "GET /x")
    follower = Line(*await asyncio.open_unix_connection(path))
    assert await follower.ask("follow") == {"ok": {}}
    assert (await follower.heard())["ask"] == asked["ask"]
    await line.ask("answer", ask=asked["ask"], allow=False)
    assert (await follower.heard()).items() >= {"event": "answered", "allowed": False}.items()
    follower.writer.close()
    with suppress(ConnectionError, asyncio.IncompleteReadError):
        await said


async def test_a_question_is_followed_and_answered(lab: EgressLab, line: Line, path: str) -> None:
    lab.rules({**lab.allow("a.example"), "action": "ask"})
    await lab.serve(80)
    follower = Line(*await asyncio.open_unix_connection(path))
    assert await follower.ask("follow") == {"ok": {}}
    said = asyncio.ensure_future(lab.said("a.example", 80, REQUEST, 5))
    event = await follower.heard()
    assert (event["event"], event["destination"]) == ("ask", "a.example:80")
    assert await line.ask("answer", ask=event["ask"], allow=True) == {"ok": {"answered": True}}
    assert await said == b"hello"
    assert [(await follower.heard())["event"] for _ in range(2)] == ["answered", "open"]
    follower.writer.close()
    assert await line.ask("answer", ask=event["ask"], allow=True) == {"ok": {"answered": False}}


async def test_a_follower_with_a_name_is_told_what_happened_before_and_between(lab: EgressLab, path: str) -> None:
    for number in (1, 2):
        lab.server.events.publish("dns", name=f"{number}.example")
        follower = Line(*await asyncio.open_unix_connection(path))
        assert await follower.ask("follow", name="connections") == {"ok": {}}
        assert (await follower.heard())["name"] == f"{number}.example"
        number = (await follower.heard())["up_to"]
        follower.writer.write(json.dumps({"acknowledged": number}).encode() + b"\n")
        await eventually(lambda: lab.server.events._positions["connections"] == lab.server.events.number)
        follower.writer.close()


async def test_the_apis_follower_hears_of_connections_that_carried_bytes(lab: EgressLab, path: str) -> None:
    lab.rules(lab.allow("a.example"))
    await lab.serve(80)
    told = []
    async for event in EgressClient(path).follow("connections"):
        if not event:
            assert await lab.said("a.example", 80, REQUEST, 5) == b"hello"
        else:
            told.append((event["event"], event["sent"]))
        if len(told) == 2:
            break
    assert told == [("open", 0), ("close", len(REQUEST))]


async def test_what_a_follower_has_not_dealt_with_is_told_to_the_next_one(lab: EgressLab, path: str) -> None:
    lab.server.events.publish("ask", ask=1)
    for said in (b"", b"x\n", b'{"acknowledged": "1"}\n', b'{"acknowledged": null}\n', b"[]\n"):
        follower = Line(*await asyncio.open_unix_connection(path))
        assert await follower.ask("follow", name="connections") == {"ok": {}}
        assert (await follower.heard())["ask"] == 1
        follower.writer.write(said)
        follower.writer.close()


async def test_a_follower_of_an_unknown_name_is_refused(path: str) -> None:
    follower = Line(*await asyncio.open_unix_connection(path))
    assert "known are" in (await follower.ask("follow", name="x"))["refused"]
    follower.writer.close()


async def test_who_lost_events_is_told_so_with_the_questions_that_are_open(
    lab: EgressLab, path: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(flow_events, "MAX_KEPT", 4)
    lab.rules({**lab.allow("a.example"), "action": "ask"})
    follower = Line(*await asyncio.open_unix_connection(path))
    await follower.ask("follow", name="connections")
    said = asyncio.ensure_future(lab.said("a.example", 80, REQUEST, 5))
    asked = await follower.heard()
    assert "up_to" in await follower.heard()
    for number in range(100):  # without a pause, so that nothing is sent meanwhile
        lab.server.events.publish("refused", id=number)
    lost, again, *refused = [await follower.heard() for _ in range(6)]
    assert (lost["event"], lost["kinds"], lost["asking"]) == ("lost", ["refused"], [asked["ask"]])
    assert (again["event"], again["ask"]) == ("ask", asked["ask"])
    assert [event["id"] for event in refused] == [96, 97, 98, 99]
    assert "up_to" in await follower.heard()
    lab.server.approvals.answer(asked["ask"], allowed=False)
    assert (await follower.heard())["event"] == "answered"
    follower.writer.close()
    with suppress(ConnectionError, asyncio.IncompleteReadError):
        await said


async def test_flows_are_listed_a_part_at_a_time(lab: EgressLab, line: Line, path: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(control_socket, "MAX_LISTED", 2)
    port = await lab.serve(greeting=b"hi")
    lab.rules(lab.allow("a.example"))
    open_ones = [await lab.connect("a.example", port) for _ in range(5)]
    numbers = [(await lab.event("open"))["id"] for _ in open_ones]
    first = (await line.ask("flows"))["ok"]
    assert ([flow["id"] for flow in first["flows"]], first["total"]) == (numbers[:2], 5)
    assert [flow["id"] for flow in await EgressClient(path).flows()] == numbers
    for _, writer in open_ones:
        writer.close()


async def test_a_follower_that_hangs_up_is_forgotten(lab: EgressLab, path: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(control_socket, "LOOK_SECONDS", 0.02)

    async def followed() -> bool:
        follower = Line(*await asyncio.open_unix_connection(path))
        accepted = "ok" in await follower.ask("follow")
        follower.writer.close()
        await follower.writer.wait_closed()
        return accepted

    for _ in range(40):
        await eventually(followed)


async def test_how_long_a_question_waits_is_the_owners_to_say(lab: EgressLab, line: Line) -> None:
    assert await line.ask("answer_within", seconds=45) == {"ok": {}}
    lab.rules({**lab.allow("a.example"), "action": "ask"})
    said = asyncio.ensure_future(lab.said("a.example", 80, REQUEST))
    asked = await lab.event("ask")
    until, at = asked["until"], asked["at"]
    assert isinstance(until, float)
    assert isinstance(at, float)
    assert until - at == pytest.approx(45, abs=2)
    await line.ask("answer", ask=asked["ask"], allow=False)
    await said


MALFORMED = [
    b"x",
    b"[]",
    b"{}",
    b'{"op": "none"}',
    b'{"op": "policy"}',
    b'{"op": "policy", "policy": {}}',
    b'{"op": "decide", "host": "a b", "port": 1}',
    b'{"op": "decide"}',
    b'{"op": "decide", "host": "a", "port": "x"}',
    b'{"op": "decide", "host": "a", "port": 1, "protocol": "udp"}',
    b'{"op": "tasks", "running": 5}',
    b'{"op": "answer"}',
    b'{"op": "grants"}',
    b'{"op": "answer_within", "seconds": 0}',
    b'{"op": "answer_within", "seconds": NaN}',
    b'{"op": "answer_within"}',
    b'{"op": "grants", "rules": 5}',
    b"[" * 100_000,
    b"\xff",
]


@pytest.mark.parametrize("sent", MALFORMED, ids=lambda sent: sent[:40].decode("latin-1"))
async def test_a_malformed_request_is_refused_and_the_next_one_answered(line: Line, sent: bytes) -> None:
    line.writer.write(sent + b"\n")
    assert "refused" in await line.heard()
    assert "ok" in await line.ask("status")


async def test_a_line_that_is_too_long_ends_the_connection(
    path: str, monkeypatch: pytest.MonkeyPatch, lab: EgressLab, tmp_path: Path
) -> None:
    monkeypatch.setattr(control_socket, "MAX_LINE", 1000)
    other = await lab.server.control(str(tmp_path / "other.sock"))
    reader, writer = await asyncio.open_unix_connection(str(tmp_path / "other.sock"))
    writer.write(b"x" * 5000)
    async with asyncio.timeout(20):
        with suppress(ConnectionResetError):
            assert await reader.read() == b""
    writer.close()
    other.close()


async def test_the_socket_is_for_its_user_and_the_group_of_its_directory(path: str) -> None:
    assert os.stat(path).st_mode & 0o777 == 0o660
