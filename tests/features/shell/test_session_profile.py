"""What a session was created with."""

import pytest

from sandbox_server.features.shell.session_profile import SessionPool, ShellProfile


@pytest.mark.parametrize(
    ("personal", "by_person", "pool"), [(False, False, "programs"), (True, False, "terminals"), (True, True, "people")]
)
def test_a_session_takes_a_place_of_those_who_open_such_sessions(personal: bool, by_person: bool, pool: SessionPool) -> None:
    assert ShellProfile("s", personal=personal, by_person=by_person).pool == pool
