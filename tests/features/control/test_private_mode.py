"""What keeps to a person's privacy beside the calls that look."""

import asyncio
from collections.abc import Callable
from pathlib import Path

import pytest

from sandbox_server.core import Caller, Unavailable
from sandbox_server.core.control import Holding
from sandbox_server.features.control import lease_state_machine as machine
from sandbox_server.features.control.lease_keeper import LeaseKeeper, actor_of
from sandbox_server.features.control.private_mode import ClearClipboard, SecretFocus
from tests.controls import driving
from tests.patience import eventually

pytestmark = pytest.mark.anyio

ANN = Caller("ann", person=True)
PUBLIC, PRIVATE = Holding(), Holding(2, "human", "ann", frozenset({"gui", "cdp"}), "ann")


class Board:
    def __init__(self, text: str = "") -> None:
        self.text = text
        self.there = True

    async def read(self) -> str:
        if not self.there:
            raise Unavailable("there is no desktop")
        return self.text

    async def write(self, text: str) -> None:
        self.text = text


async def test_what_was_copied_in_private_is_gone_afterwards() -> None:
    board = Board("before")
    fence = ClearClipboard(board)
    for holding in (PUBLIC, PRIVATE):
        await fence(holding)
    board.text = "hunter2"
    await fence(PUBLIC)
    assert board.text == ""


async def test_what_was_copied_before_stays() -> None:
    board = Board("before")
    fence = ClearClipboard(board)
    for holding in (PUBLIC, PRIVATE, PRIVATE, PUBLIC, PUBLIC):
        await fence(holding)
    assert board.text == "before"


async def test_what_is_not_known_to_be_from_before_is_taken_for_private() -> None:
    restarted = Board("hunter2")
    fence = ClearClipboard(restarted)
    for holding in (PRIVATE, PUBLIC):
        await fence(holding)
    assert restarted.text == ""
    silent = Board("hunter2")
    fence = ClearClipboard(silent)
    await fence(PUBLIC)
    silent.there = False
    await fence(PRIVATE)
    silent.there = True
    await fence(PUBLIC)
    assert silent.text == ""


class Browser:
    """Tells what it is told to tell."""

    def __init__(self) -> None:
        self.tell: Callable[[bool], None] = lambda _: None
        self.followed = asyncio.Event()

    async def follow(self, tell: Callable[[bool], None]) -> None:
        self.tell = tell
        self.followed.set()
        await asyncio.get_running_loop().create_future()


async def take(found: LeaseKeeper, *reach: str) -> None:
    wanted = frozenset(reach or ("gui", "cdp"))
    await found.change(
        "taken",
        actor_of(ANN),
        lambda lease, now: machine.take(lease, actor_of(ANN), wanted, now, viewing=True),  # type: ignore[arg-type] # words
    )


async def test_a_person_who_drives_is_private_once_a_secret_field_has_the_focus(tmp_path: Path) -> None:
    browser = Browser()
    async with driving(tmp_path) as found, SecretFocus(found, browser.follow):
        await browser.followed.wait()
        await take(found)
        assert found.holding.private is None
        browser.tell(True)
        await eventually(lambda: found.holding.private == "ann")


async def test_who_takes_over_in_a_secret_field_is_private_at_once(tmp_path: Path) -> None:
    browser = Browser()
    async with driving(tmp_path) as found, SecretFocus(found, browser.follow):
        await browser.followed.wait()
        browser.tell(True)
        assert found.holding.state == "agent"
        await take(found, "shell")
        assert found.holding.private is None, "the screen is the agent's"
        await take(found)
        assert found.holding.private == "ann"
        await found.change("public", actor_of(ANN), lambda lease, now: machine.show(lease, actor_of(ANN), now))
        await take(found)
        assert found.holding.private is None, "the person ended it, and is in the same field"
        browser.tell(False)
        browser.tell(True)
        await eventually(lambda: found.holding.private == "ann")
