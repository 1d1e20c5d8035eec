"""The rights of one viewer: what its scopes and its lease amount to."""

import pytest

from sandbox_server.core.results import Caller
from sandbox_server.stream import wire
from sandbox_server.stream.viewer.access import ViewerAccess
from tests.stream.viewers import GUEST, PERSON, FakeLease

PROGRAM = Caller("program", frozenset({"view", "control"}))


def access(caller: Caller, *, drives: bool, sees: bool | None = True, has_microphone: bool = False) -> ViewerAccess:
    lease = FakeLease(drives=drives)
    lease.sees = sees
    return ViewerAccess(caller, lease, has_microphone=has_microphone)


@pytest.mark.parametrize(
    ("of", "rights"),
    [
        (access(GUEST, drives=False), 0),
        (access(GUEST, drives=True), 0),
        (access(PERSON, drives=False), wire.MAY_ACT),
        (access(PERSON, drives=True), wire.MAY_ACT | wire.DRIVES),
        (access(PERSON, drives=True, has_microphone=True), wire.MAY_ACT | wire.DRIVES | wire.MAY_SPEAK),
        (access(PERSON, drives=False, sees=False), wire.MAY_ACT | wire.HIDDEN),
        (access(GUEST, drives=False, sees=False), wire.HIDDEN),
        (access(GUEST, drives=False, sees=None), 0),
    ],
)
def test_rights_follow_from_scopes_and_lease(of: ViewerAccess, rights: int) -> None:
    assert of.rights == rights


def test_while_it_is_not_known_whether_a_viewer_may_see_it_may_not_and_is_not_told_so() -> None:
    unknown = access(PERSON, drives=True, sees=None)
    assert not unknown.sees
    assert not unknown.is_hidden
    assert not unknown.may_speak


def test_the_microphone_hears_who_drives_may_act_and_sees() -> None:
    assert access(PERSON, drives=True).may_speak
    assert not access(GUEST, drives=True).may_speak
    assert not access(PERSON, drives=False).may_speak
    assert not access(PERSON, drives=True, sees=False).may_speak


def test_a_person_who_does_not_drive_only_watches_and_a_program_never_does() -> None:
    assert access(PERSON, drives=False).only_watches
    assert not access(PERSON, drives=True).only_watches
    assert not access(PROGRAM, drives=False).only_watches


def test_what_programs_do_is_echoed_to_who_does_not_drive() -> None:
    lease = FakeLease(drives=False)
    watching = ViewerAccess(PERSON, lease)
    assert watching.sees_echo
    lease.set(drives=True)
    assert not watching.sees_echo


@pytest.mark.anyio
async def test_an_input_that_acts_asks_the_lease() -> None:
    lease = FakeLease(drives=True)
    assert await ViewerAccess(PERSON, lease).ask_to_act()
    assert lease.asked == 1
