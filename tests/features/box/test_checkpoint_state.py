"""What is noted for a checkpoint, and by whom it is seen."""

import asyncio

import pytest

from sandbox_server.core import Caller, NotFound, Unavailable
from sandbox_server.drivers.forks.fork_state import KeptShell, KeptState, KeptTab
from sandbox_server.features.box import checkpoint_state
from sandbox_server.features.box.checkpoint_state import CheckpointStates, seen_by
from tests.features.box.conftest import FakeBox

pytestmark = pytest.mark.anyio
SHELLS, TABS = (KeptShell("main", "/"),), (KeptTab("https://a.example/"),)
PROGRAM = {"argv": ["sleep", "9"], "directory": "/", "uid": 1000, "session": "bash:1", "whole": True}


@pytest.fixture
def states(daemon: FakeBox) -> CheckpointStates:
    async def shells() -> tuple[KeptShell, ...]:
        return SHELLS

    async def tabs() -> tuple[KeptTab, ...]:
        return TABS

    daemon.answers |= {"programs": {"programs": [PROGRAM]}, "keep_state": {}, "state": {"state": ""}}
    made = CheckpointStates(daemon, lambda text: text.replace("hunter2", "***"))
    made.sources.shells, made.sources.tabs = shells, tabs
    return made


async def test_shells_tabs_and_programs_are_noted_and_kept(states: CheckpointStates, daemon: FakeBox) -> None:
    noted = await states.note()
    assert (noted.shells, noted.tabs, [each.argv for each in noted.programs], noted.problems) == (SHELLS, TABS, [("sleep", "9")], ())
    await states.keep("a", noted)
    assert KeptState.loads(str(daemon.asked[-1][1]["state"])) == noted


async def test_what_is_slow_or_fails_is_missing_and_said(
    states: CheckpointStates, daemon: FakeBox, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def never() -> tuple[KeptShell, ...]:
        await asyncio.Event().wait()
        raise AssertionError

    async def broken() -> tuple[KeptTab, ...]:
        raise Unavailable("there is no browser")

    monkeypatch.setattr(checkpoint_state, "NOTE_SECONDS", 0.01)
    states.sources.shells, states.sources.tabs = never, broken
    daemon.refusals["programs"] = Unavailable("the box is away")
    noted = await states.note()
    assert (noted.shells, noted.tabs, noted.programs) == ((), (), ())
    assert noted.problems == ("shells: not noted within 0.01 s", "tabs: there is no browser", "programs: the box is away")


async def test_tabs_are_left_out_while_a_person_is_in_private_mode(states: CheckpointStates) -> None:
    states.sources.hidden = lambda: True
    noted = await states.note()
    assert (noted.shells, noted.tabs, noted.problems) == (SHELLS, (), ("tabs: a person is in private mode",))


@pytest.mark.parametrize("words", [["--password", "hunter2"], ["a\nhunter2"]])
async def test_a_program_whose_words_hold_a_secret_is_not_whole(states: CheckpointStates, daemon: FakeBox, words: list[str]) -> None:
    daemon.answers["programs"] = {"programs": [PROGRAM | {"argv": ["curl", *words]}]}
    [found] = (await states.note()).programs
    assert (found.whole, "hunter2" in "".join(found.argv)) == (False, False)


async def test_a_checkpoint_without_it_or_with_a_damaged_one_says_so(states: CheckpointStates, daemon: FakeBox) -> None:
    assert "made automatically" in (await states.read("a")).problems[0]
    daemon.answers["state"] = {"state": "{"}
    assert (await states.read("a")).problems != ()
    daemon.refusals["state"] = NotFound("no checkpoint 'a'")
    with pytest.raises(NotFound):
        await states.read("a")


async def test_what_cannot_be_kept_is_logged(states: CheckpointStates, daemon: FakeBox, caplog: pytest.LogCaptureFixture) -> None:
    daemon.refusals["keep_state"] = Unavailable("the disk is full")
    await states.keep("a", KeptState())
    assert "not kept with checkpoint a: the disk is full" in caplog.text


def test_tabs_are_for_who_may_use_the_browser_whatever_its_profile() -> None:
    state = KeptState(SHELLS, TABS)
    assert seen_by(Caller("any"), state) == state
    for caller in (Caller("shell", frozenset({"shell"})), Caller("named", profiles=("mail",))):
        seen = seen_by(caller, state)
        assert (seen.shells, seen.tabs, len(seen.problems)) == (SHELLS, (), 1)
    assert seen_by(Caller("shell", frozenset({"shell"})), KeptState(SHELLS)) == KeptState(SHELLS)
