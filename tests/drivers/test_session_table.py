import time
from collections.abc import Sequence
from dataclasses import dataclass

import pytest

from sandbox_server.core.errors import InvalidArgument, NotFound, ResourceExhausted
from sandbox_server.drivers.session_table import MAX_ID, RETRY_AFTER, LastUse, SessionLimit, SessionTable, require_valid_id


@dataclass(frozen=True)
class Example:
    id: str
    idle: bool = False
    by_person: bool = False


def oldest_idle(sessions: Sequence[Example]) -> Example | None:
    return next((session for session in sessions if session.idle), None)


def table(most: int = 2) -> SessionTable[Example]:
    return SessionTable(SessionLimit(most, "all are in use", "close one", oldest_idle))


def test_a_session_is_found_by_its_id_and_the_others_are_missing_by_name() -> None:
    sessions, one = table(), Example("one")
    sessions.add(one)

    assert (sessions.get("one"), sessions.find("two"), list(sessions), len(sessions), "one" in sessions) == (one, None, [one], 1, True)
    with pytest.raises(NotFound, match="Session not found") as missing:
        sessions.get("two")
    assert missing.value.details == {"session_id": "two"}


@pytest.mark.parametrize("session_id", ["x" * (MAX_ID + 1), "a/b", "line\nbreak", "\x1b"])
def test_an_id_that_is_long_or_cannot_be_shown_is_refused(session_id: str) -> None:
    with pytest.raises(InvalidArgument, match="a session id has at most 128 printable characters and no slash") as refused:
        require_valid_id(session_id, "id")
    assert refused.value.details == {"id": session_id[:MAX_ID]}


@pytest.mark.parametrize("session_id", ["", "x" * MAX_ID, "mine", "Ärger 2"])
def test_any_other_id_is_valid(session_id: str) -> None:
    require_valid_id(session_id)


def test_where_all_are_busy_there_is_no_room_and_nothing_is_added() -> None:
    sessions = table(1)
    sessions.add(Example("one"))

    for refused in (sessions.evicted_for, sessions.add):
        with pytest.raises(ResourceExhausted, match="all are in use") as full:
            refused(Example("two"))
        assert (full.value.retry_after, full.value.hint) == (RETRY_AFTER, "close one")
    assert [session.id for session in sessions] == ["one"]


def test_a_session_that_can_go_is_named_and_stays_until_its_owner_removes_it() -> None:
    sessions, idle, late = table(), Example("idle", idle=True), Example("late")
    sessions.add(idle)
    assert sessions.evicted_for(late) is None
    sessions.add(Example("busy"))

    assert sessions.evicted_for(late) is idle
    with pytest.raises(ResourceExhausted):
        sessions.add(late)
    assert sessions.remove(idle)
    sessions.add(late)
    assert [session.id for session in sessions] == ["busy", "late"]


def test_sessions_of_different_kinds_take_no_room_from_each_other() -> None:
    programs = SessionLimit[Example](1, "no program", "", counts=lambda session: not session.by_person)
    people = SessionLimit[Example](1, "no person", "")
    sessions = SessionTable(programs, people)
    sessions.add(Example("program"))
    sessions.add(Example("person", by_person=True))

    with pytest.raises(ResourceExhausted, match="no program"):
        sessions.add(Example("another"))
    with pytest.raises(ResourceExhausted, match="no person"):
        sessions.add(Example("another", by_person=True))


def test_what_was_there_before_is_put_back_over_the_limit() -> None:
    sessions = table(1)
    for name in ("one", "two"):
        sessions.put_back(Example(name))
    assert len(sessions) == 2


def test_removing_a_session_leaves_another_of_its_id_alone() -> None:
    sessions, gone, new = table(), Example("same"), Example("same")
    sessions.add(new)

    assert (sessions.remove(gone), list(sessions)) == (False, [new])
    assert (sessions.remove(new), sessions.remove(new)) == (True, False)


def test_the_view_by_id_follows_the_table() -> None:
    sessions = table()
    view = sessions.by_id
    sessions.add(Example("one"))
    assert list(view) == ["one"]


@pytest.mark.parametrize("jump", [-86_400, 86_400])
def test_how_long_ago_the_last_use_is_holds_when_the_machines_clock_is_set(monkeypatch: pytest.MonkeyPatch, jump: float) -> None:
    moment = time.time()
    last_use = LastUse()
    monkeypatch.setattr("time.time", lambda: moment + jump)
    assert moment <= last_use.at < moment + 60
    assert 0 <= last_use.seconds_ago < 60
    last_use.touch()
    assert last_use.at == moment + jump
