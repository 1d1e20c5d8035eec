from pathlib import Path

import pytest

from sandbox_server.core import Conflict, NotFound, ResourceExhausted
from sandbox_server.features.bash.command import BashCommand, OutputLimit
from sandbox_server.features.bash.session import MAX_WORD, BashSession, BashSessions

pytestmark = pytest.mark.anyio


@pytest.fixture
def kept(tmp_path: Path) -> OutputLimit:
    return OutputLimit(1 << 20, str(tmp_path))


def finished(session: BashSession, kept: OutputLimit) -> BashCommand:
    command = session.add("true", kept)
    command.status = "completed"
    command.close()
    return command


async def test_a_command_is_in_the_way_of_the_next_from_the_moment_it_is_added(kept: OutputLimit) -> None:
    session = BashSession("s", "/")
    command = session.add("first", kept)
    assert session.running is command
    with pytest.raises(Conflict, match="first"):
        session.add("second", kept)
    session.withdraw(command)
    command.close()
    assert session.latest is None
    assert session.command_count == 0


async def test_a_closed_session_takes_no_command(kept: OutputLimit) -> None:
    sessions = BashSessions(1)
    session = BashSession("s", "/")
    sessions.add(session)
    sessions.remove(session)
    assert session.state().status == "closed"
    with pytest.raises(NotFound):
        session.add("true", kept)
    with pytest.raises(NotFound):
        sessions.get("s")


async def test_offsets_only_grow_even_where_commands_are_forgotten(kept: OutputLimit) -> None:
    session = BashSession("s", "/")
    command = session.add("x", kept)
    command.stdout.spool.append(b"12345")
    command.stderr.spool.append(b"1")
    command.status = "completed"
    session.forget(command.id)
    assert session.latest is None
    following = finished(session, kept)
    assert (following.stdout.base, following.stderr.base) == (5, 1)
    command.close()


async def test_the_temporary_session_that_is_idle_longest_makes_room(kept: OutputLimit) -> None:
    sessions = BashSessions(3)
    for name in ("a", "b"):
        sessions.add(BashSession(name, "/", temporary=True))
    sessions.add(BashSession("named", "/"))
    busy = sessions.get("a").add("sleep", kept)
    sessions.add(BashSession("c", "/", temporary=True))
    assert [session.id for session in sessions] == ["a", "named", "c"]
    sessions.get("c").temporary = False
    with pytest.raises(ResourceExhausted):
        sessions.add(BashSession("d", "/"))
    busy.close()


def test_a_short_command_is_one_argument_and_a_long_one_several() -> None:
    session = BashSession("s", "/", snapshot_path="/tmp/a b")
    assert session.argv("true") == ["bash", "-c", "--", "source '/tmp/a b'\ntrue"]
    words = session.argv("é" * MAX_WORD)[4:]
    assert "".join(words) == "source '/tmp/a b'\n" + "é" * MAX_WORD
    assert max(len(word.encode()) for word in words) <= MAX_WORD
