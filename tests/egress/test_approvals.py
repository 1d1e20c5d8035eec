import asyncio
import hashlib
from dataclasses import replace

import pytest

from sandbox_server.drivers.egress.body_summary import MAX_TEXT
from sandbox_server.drivers.egress.policy import Destination, HttpRequest
from sandbox_server.egress import approvals as approvals_module
from sandbox_server.egress.approvals import MAX_OPEN_OF_ONE, Approvals, AskedRequest
from sandbox_server.egress.flow_events import FlowEvents
from tests.egress.heard_events import HeardEvents
from tests.patience import eventually

pytestmark = pytest.mark.anyio


async def nothing() -> bytes:
    """The body of a request that has none."""
    raise AssertionError


PLACE, OTHER = Destination(443, "a.example"), Destination(443, "b.example")


async def test_one_question_is_asked_for_all_who_wait_for_the_same_place() -> None:
    events = FlowEvents()
    approvals = Approvals(events)
    with events.follow() as follower:
        heard = HeardEvents(follower)
        waiting = [asyncio.ensure_future(approvals.ask(place, "rule")) for place in (PLACE, PLACE, OTHER)]
        first, second = [(await heard.get())["ask"] for _ in range(2)]
        assert heard.empty()
        assert approvals.answer(second, allowed=False)
        assert approvals.answer(first, allowed=True)
        assert await asyncio.gather(*waiting) == [True, True, False]


async def test_an_answer_that_does_not_come_in_time_is_no() -> None:
    approvals = Approvals(FlowEvents(), seconds=0.02)
    assert not await approvals.ask(PLACE, "rule")
    assert not approvals.answer(1, allowed=True)


async def test_the_next_question_is_another_one() -> None:
    events = FlowEvents()
    approvals = Approvals(events)
    with events.follow() as follower:
        heard = HeardEvents(follower)
        for allowed in (True, False):
            waiting = asyncio.ensure_future(approvals.ask(PLACE, "rule"))
            assert approvals.answer((await heard.get())["ask"], allowed=allowed)
            assert await waiting is allowed
            assert (await heard.get())["event"] == "answered"


async def test_who_waits_may_go_away_and_the_others_still_hear() -> None:
    events = FlowEvents()
    approvals = Approvals(events)
    with events.follow() as follower:
        heard = HeardEvents(follower)
        gone, stays = [asyncio.ensure_future(approvals.ask(PLACE, "rule")) for _ in range(2)]
        asked = (await heard.get())["ask"]
        gone.cancel()
        await asyncio.sleep(0)
        approvals.answer(asked, allowed=True)
        assert await stays


@pytest.mark.parametrize("identity", [0, 2, "1", None, [1]])
async def test_an_answer_to_no_question_is_none(identity: object) -> None:
    approvals = Approvals(FlowEvents(), seconds=0.1)
    waiting = asyncio.ensure_future(approvals.ask(PLACE, "rule"))
    await asyncio.sleep(0)
    assert not approvals.answer(identity, allowed=True)
    assert not await waiting


async def test_questions_that_are_open_are_there_for_those_who_come_later_and_their_end_is_told() -> None:
    events = FlowEvents()
    approvals = Approvals(events)
    waiting = asyncio.ensure_future(approvals.ask(PLACE, "rule", told={"host": "a.example", "request": "GET /seen"}))
    await asyncio.sleep(0)
    [question] = approvals.open
    assert (question["event"], question["host"], question["request"], question["by_request"]) == ("ask", "a.example", "GET /seen", False)
    with events.follow() as follower:
        heard = HeardEvents(follower)
        approvals.answer(question["ask"], allowed=True)
        assert await waiting
        assert (await heard.get()).items() >= {"event": "answered", "ask": question["ask"], "allowed": True}.items()
    assert approvals.open == []


async def test_a_rule_about_requests_asks_for_each_request() -> None:
    events = FlowEvents()
    approvals = Approvals(events)
    requests = [HttpRequest("GET", "/a"), HttpRequest("GET", "/b"), HttpRequest("GET", "/a")]
    with events.follow() as follower:
        heard = HeardEvents(follower)
        waiting = [asyncio.ensure_future(approvals.ask(PLACE, "rule", request=AskedRequest(each, nothing))) for each in requests]
        asked = [await heard.get() for _ in range(3)]
        assert [(each["method"], each["target"], each["body"]) for each in asked] == [("GET", path, None) for path in ("/a", "/b", "/a")]
        for number, question in enumerate(asked):
            approvals.answer(question["ask"], allowed=number == 0)
        assert await asyncio.gather(*waiting) == [True, False, False]


@pytest.mark.parametrize(("body", "text"), [(b"to=alice", "to=alice"), (b"\xff", None), (b"x" * (MAX_TEXT + 1), None), (b"", "")])
async def test_a_body_is_told_as_text_or_by_what_identifies_it(body: bytes, text: str | None) -> None:
    async def read() -> bytes:
        return body

    told = await AskedRequest(HttpRequest("POST", "/transfer?a=b", has_body=True, host="a.example"), read).describe()
    expected = {"size": len(body), "sha256": hashlib.sha256(body).hexdigest(), "text": text}
    assert told == {"method": "POST", "target": "/transfer?a=b", "site": "a.example", "websocket": False, "body": expected}


async def test_so_many_bodies_are_held_before_their_questions(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each may have a megabyte: none is read beyond the questions that may be open."""
    monkeypatch.setattr(approvals_module, "MAX_OPEN_OF_ONE", 2)
    approvals, come = Approvals(FlowEvents()), asyncio.Event()
    read: list[int] = []

    async def slow() -> bytes:
        read.append(1)
        await come.wait()
        return b"x"

    request = HttpRequest("POST", "/a", has_body=True)
    waiting = [asyncio.ensure_future(approvals.ask(PLACE, "rule", request=AskedRequest(request, slow))) for _ in range(3)]
    assert not await waiting[2]
    assert len(read) == 2
    come.set()
    await eventually(lambda: len(approvals.open) == 2)
    for question in approvals.open:
        approvals.answer(question["ask"], allowed=True)
    assert await asyncio.gather(*waiting[:2]) == [True, True]


async def test_the_question_of_a_request_that_is_given_up_is_withdrawn() -> None:
    approvals = Approvals(FlowEvents())
    waiting = asyncio.ensure_future(approvals.ask(PLACE, "rule", request=AskedRequest(HttpRequest("GET", "/a"), nothing)))
    await asyncio.sleep(0)
    assert len(approvals.open) == 1
    waiting.cancel()
    with pytest.raises(asyncio.CancelledError):
        await waiting
    assert approvals.open == []


async def test_the_questions_of_one_user_leave_others_a_place() -> None:
    approvals = Approvals(FlowEvents(), seconds=30)
    flood = [
        asyncio.ensure_future(approvals.ask(Destination(443, f"{number}.example", uid=1000), "rule", told={"uid": 1000, "inode": 1}))
        for number in range(2 * MAX_OPEN_OF_ONE)
    ]
    others = asyncio.ensure_future(approvals.ask(replace(PLACE, uid=991), "rule", told={"uid": 991, "inode": 1}))
    await eventually(lambda: others.done() or len(approvals.open) > MAX_OPEN_OF_ONE)
    assert [each["uid"] for each in approvals.open] == [1000] * MAX_OPEN_OF_ONE + [991]
    for each in (others, *flood):
        each.cancel()
    await asyncio.wait([others, *flood])
