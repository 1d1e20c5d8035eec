from typing import Any

import httpx
import pytest
from tandem import wire
from tandem.errors import Conflict, HeldByPerson, LimitReached, NotFound, TandemError, Unavailable, failure


def lines(*given: str) -> list[wire.Event]:
    events = wire.Events()
    return [event for line in given if (event := events.take(line))]


def test_events_are_put_together_of_their_lines() -> None:
    assert lines(": comment", "", "id: 7", "event: output", 'data: {"a":', "data: 1}", "", "data: no json", "") == [
        wire.Event("output", {"a": 1}, "7"),
        wire.Event("message", "no json", "7"),
    ]


def test_an_event_that_was_cut_comes_again_whole() -> None:
    events = wire.Events()
    for line in ("id: 1", "data: one", "", "id: 2", "event: x", 'data: "tw'):
        events.take(line)
    assert events.last == "1"
    events.begin()
    assert [event for line in ("id: 2", 'data: "two"', "", "event: y", "", 'data: "three"', "") if (event := events.take(line))] == [
        wire.Event("message", "two", "2"),
        wire.Event("message", "three", "2"),
    ]


def test_what_is_not_set_is_not_sent() -> None:
    from tandem.api.shared import FormField

    given = {"a": wire.UNSET, "b": None, "c": [FormField(name="n", label="l")]}
    assert wire.sent(given) == {"b": None, "c": [{"name": "n", "label": "l"}]}
    assert wire.query_of({"a": wire.UNSET, "b": None, "c": True, "d": "x", "e": 1.5}) == {"c": "true", "d": "x", "e": "1.5"}


def test_a_file_that_failed_is_a_failure() -> None:
    data = {"path": "/x", "operation": "list", "message": "gone", "error_type": "not_found", "retryable": False}
    answer = httpx.Response(200, json={"success": False, "message": "gone", "data": data, "hint": None})
    with pytest.raises(NotFound, match="gone"):
        wire.data_of(answer)


@pytest.mark.parametrize("url", ["localhost:8080", "ftp://x"])
def test_an_address_that_is_no_url_is_refused(url: str) -> None:
    with pytest.raises(TandemError, match="no URL"):
        wire.Place.of(url, None)


def test_a_place_is_that_of_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SANDBOX_URL", "http://there:1/")
    monkeypatch.setenv("SANDBOX_API_KEY", "secret")
    place = wire.Place.of(None, None)
    assert (place.url, place.headers, "secret" in repr(place)) == ("http://there:1", {"Authorization": "Bearer secret"}, False)


def test_an_answer_of_another_version_says_what_is_other() -> None:
    assert wire.parsed([1], list[int]) == [1]
    with pytest.raises(TandemError, match="otherwise than this client's"):
        wire.parsed({"a": "b"}, list[int])


def error(status: int, data: Any = None, **headers: str) -> Any:
    return failure(status, {"message": "m", "data": data}, {name.replace("_", "-"): value for name, value in headers.items()})


def test_patience_waits_for_what_was_not_done_and_ends() -> None:
    patience = wire.Patience(60)
    held = error(423, {"reason": "held_by_human", "holder": "ann", "epoch": 3})
    assert isinstance(held, HeldByPerson)
    assert (held.holder, held.epoch) == ("ann", 3)
    assert [patience.wait_for_control(held) for _ in range(3)] == [wire.LONGEST_WAIT, 10, None]
    patience = wire.Patience(5)
    assert patience.pause(error(429, retry_after="2")) == 2
    assert patience.pause(error(503, retry_after="4")) is None
    assert patience.pause(error(503)) is None
    assert patience.pause(error(423, {"reason": "private"})) == 1


def test_what_may_have_been_done_is_not_sent_again() -> None:
    unknown = error(423, {"reason": "held_by_human", "outcome": "unknown"})
    patience = wire.Patience(60)
    assert (patience.wait_for_control(unknown), patience.pause(unknown)) == (None, None)
    assert patience.pause(error(409, {"reason": "stale_epoch", "epoch": 9})) is None


def test_a_failure_says_what_the_server_says() -> None:
    assert isinstance(error(429, retry_after="1.5"), LimitReached)
    assert error(429, retry_after="1.5").retry_after == 1.5
    assert isinstance(error(503, retry_after="Wed, 21 Oct 2026"), Unavailable)
    assert error(503, retry_after="Wed, 21 Oct 2026").retry_after is None
    stale = error(409, {"reason": "stale_epoch", "epoch": 9})
    assert isinstance(stale, Conflict)
    assert (stale.reason, stale.epoch) == ("stale_epoch", 9)


def test_pauses_grow_to_a_bound() -> None:
    assert all(0.25 <= wire.pauses(0) <= 0.5 and 5 <= wire.pauses(1000) <= 10 for _ in range(20))


def test_files_of_this_machine_are_read_and_written(tmp_path: Any) -> None:
    wire.write_file(tmp_path / "a", b"x")
    assert wire.read_file(str(tmp_path / "a")) == b"x"
