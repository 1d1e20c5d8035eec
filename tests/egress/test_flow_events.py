import asyncio
import json

import pytest

from sandbox_server.egress import flow_events
from sandbox_server.egress.flow_events import FlowEvent, FlowEventFollower, FlowEvents, TooManyFollowers


def ids(events: list[FlowEvent]) -> list[object]:
    """What tells events apart."""
    return [event.get("id", event["event"]) for event in events]


def delivered(follower: FlowEventFollower) -> list[object]:
    """Take what is there, and say that it has arrived."""
    found = ids(follower.take())
    follower.delivered(follower.taken)
    return found


def test_who_follows_gets_what_happens_from_then_on() -> None:
    events = FlowEvents()
    events.publish("open", id=1)
    with events.follow() as one, events.follow() as other:
        events.publish("close", id=1)
        for follower in (one, other):
            [event] = follower.take()
            assert (event["event"], event["id"]) == ("close", 1)
            assert follower.take() == []
    events.publish("open", id=2)
    assert events.counts == {"open": 2, "close": 1}


def test_what_happens_before_a_named_follower_comes_waits_for_it() -> None:
    events = FlowEvents()
    events.publish("refused", id=1)
    events.publish("open", id=2)
    for name in flow_events.FOLLOWER_NAMES:
        with events.follow(name) as follower:
            assert delivered(follower) == [1, 2]
    assert [list(kept) for kept in events._kept.values()] == [[], []]


def test_what_happens_while_a_named_follower_is_away_is_told_once_when_it_is_back() -> None:
    events = FlowEvents()
    with events.follow("connections") as follower:
        events.publish("open", id=1)
        assert delivered(follower) == [1]
    events.publish("close", id=1)
    with events.follow("connections") as follower:
        events.publish("open", id=2)
        assert delivered(follower) == [1, 2]
    with events.follow("connections") as follower:
        assert delivered(follower) == []


def test_what_was_taken_and_not_delivered_is_told_again() -> None:
    events = FlowEvents()
    events.publish("ask", id=1)
    with events.follow("connections") as follower:
        assert ids(follower.take()) == [1]
    with events.follow("connections") as follower:
        assert ids(follower.take()) == [1]


def test_only_what_has_arrived_is_not_told_again() -> None:
    events = FlowEvents()
    with events.follow("connections") as follower:
        for number in range(4):
            events.publish("ask", id=number)
        follower.take()
        for arrived in (2, 1, -5):
            follower.delivered(arrived)
    with events.follow("connections") as follower:
        assert ids(follower.take()) == [2, 3]
        follower.delivered(1 << 60)
        events.publish("ask", id=4)
        assert ids(follower.take()) == [4]


def test_a_follower_that_was_left_behind_does_not_move_the_next_one() -> None:
    events = FlowEvents()
    with events.follow("connections") as dead, events.follow("connections") as follower:
        events.publish("ask", id=1)
        assert ids(dead.take()) == [1]
        assert delivered(follower) == [1]
        events.publish("ask", id=2)
        assert delivered(follower) == [2]


def test_a_flood_of_one_kind_pushes_out_no_other(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(flow_events, "MAX_KEPT", 4)
    events = FlowEvents()
    with events.follow("connections") as follower:
        events.publish("ask", id="question")
        events.publish("secret", id="secret")
        events.publish("close", id="closed")
        for number in range(1000):
            events.publish("refused", id=number)
            events.publish("dns", id=number)
        [lost, *others] = follower.take()
        assert (lost["event"], lost["kinds"]) == ("lost", ["dns", "refused"])
        assert ids(others)[:3] == ["question", "secret", "closed"]
        assert ids(others)[3:] == [number for number in range(996, 1000) for _ in range(2)]
        events.publish("open", id="later")
        assert ids(follower.take()) == ["later"]
    assert events.counts["dropped"] == 1992


def test_what_gave_way_after_everybody_had_it_is_not_lost(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(flow_events, "MAX_KEPT", 4)
    events = FlowEvents()
    with events.follow("connections") as follower:
        for number in range(100):
            events.publish("open", id=number)
            assert delivered(follower) == [number]
    with events.follow("secrets") as late:
        assert ids(late.take()) == ["lost", 96, 97, 98, 99]


def test_nothing_is_kept_that_everybody_was_sent() -> None:
    events = FlowEvents()
    with events.follow("connections") as one, events.follow("secrets") as other, events.follow() as unnamed:
        for number in range(100):
            events.publish("open", id=number)
        delivered(one)
        delivered(other)
        assert len(events._kept["open"]) == 100
        delivered(unnamed)
        assert len(events._kept["open"]) == 0


def test_ten_thousand_events_of_every_kind_stay_within_the_bound() -> None:
    events = FlowEvents()
    kinds = ("open", "close", "refused", "dns", "ask", "answered", "secret", "secret_needed")
    for number in range(10_000):
        events.publish(kinds[number % len(kinds)], id=number, host="h" * 200)
    with events.follow("connections") as follower:
        found = follower.take()
    assert len(found) == len(kinds) * flow_events.MAX_KEPT + 1
    assert len(json.dumps(found)) < 2 << 20


@pytest.mark.anyio
async def test_a_follower_waits_for_the_next_event() -> None:
    events = FlowEvents()
    with events.follow() as follower:
        waiting = asyncio.ensure_future(follower.next())
        await asyncio.sleep(0)
        assert not waiting.done()
        events.publish("open", id=1)
        async with asyncio.timeout(20):
            assert ids(await waiting) == [1]


def test_a_name_that_is_not_known_is_refused() -> None:
    with pytest.raises(ValueError, match="known are connections, secrets"), FlowEvents().follow("other"):
        pass


def test_followers_are_so_many(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(flow_events, "MAX_FOLLOWERS", 1)
    events = FlowEvents()
    with events.follow(), pytest.raises(TooManyFollowers), events.follow():
        pass
    with events.follow():
        pass
