"""The guard of tokens that name profiles."""

import asyncio
from collections.abc import AsyncIterator
from dataclasses import replace

import pytest

from sandbox_server.core import Call, Caller, Conflict, Event, Model, PermissionDenied, operation
from sandbox_server.core.operation import Operation, operations
from sandbox_server.features.profiles.guard import ProfileGuard

pytestmark = pytest.mark.anyio


class Thing(Model):
    """Something."""


class Things:
    """Operations that reach the browser, and one that does not."""

    tag = "things"

    @operation("GET /v1/things/page", scope="browser")
    async def page(self) -> Thing:
        """A page."""
        return Thing()

    @operation("POST /v1/things/click", scope="control", acts="gui")
    async def click(self) -> Thing:
        """A click on the screen."""
        return Thing()

    @operation("GET /v1/things/screen", scope="view", shows=True)
    async def screen(self) -> Thing:
        """The screen."""
        return Thing()

    @operation("GET /v1/things/film", scope="view", shows=True)
    async def film(self) -> AsyncIterator[Event]:
        """The screen for as long as one likes."""
        yield Event("shown", {})

    @operation("GET /v1/things/files", scope="files")
    async def files(self) -> Thing:
        """Files."""
        return Thing()


class Profiles(Things):
    """The same under the tag of profiles."""

    tag = "profiles"


FOUND = {each.spec.name: each for each in operations(Things())}


class Browser:
    """A browser whose profile changes with each question, as `profiles` says."""

    def __init__(self, *profiles: str) -> None:
        self._profiles = list(profiles)

    async def profile(self) -> str:
        return self._profiles.pop(0) if len(self._profiles) > 1 else self._profiles[0]


async def called(browser: Browser, operation: Operation, *profiles: str) -> object:
    async def proceed() -> str:
        return "done"

    return await ProfileGuard(browser.profile).guard(operation, None, Call(Caller("someone", profiles=profiles or None), "1"), proceed)


@pytest.mark.parametrize("name", ["page", "click", "screen", "files"])
async def test_a_token_without_the_claim_meets_no_guard(name: str) -> None:
    assert await called(Browser("mail"), FOUND[name]) == "done"


@pytest.mark.parametrize("name", ["page", "screen"])
async def test_what_reaches_the_browser_needs_its_profile_to_be_named(name: str) -> None:
    assert await called(Browser("work-1"), FOUND[name], "work-*") == "done"
    for named in (("work-*",), ("!",), ("default",)):
        with pytest.raises(PermissionDenied, match="does not name the browser's profile"):
            await called(Browser("mail"), FOUND[name], *named)


async def test_what_does_not_reach_it_needs_nothing_and_neither_does_choosing_a_profile() -> None:
    assert await called(Browser("mail"), FOUND["files"], "work-*") == "done"
    own = {each.spec.name: each for each in operations(Profiles())}
    assert await called(Browser("mail"), own["page"], "work-*") == "done"


async def test_what_lasts_is_refused_because_the_profile_may_change() -> None:
    with pytest.raises(PermissionDenied, match="not the screen"):
        await called(Browser("work-1"), FOUND["film"], "work-*")


@pytest.mark.parametrize("tag", ["display", "recorder"])
async def test_recordings_of_the_screen_are_refused(tag: str) -> None:
    with pytest.raises(PermissionDenied, match="not the screen"):
        await called(Browser("work-1"), replace(FOUND["files"], tag=tag), "work-*")
    assert await called(Browser("work-1"), replace(FOUND["files"], tag=tag)) == "done"


async def test_what_was_seen_of_another_profile_is_not_given() -> None:
    with pytest.raises(Conflict) as caught:
        await called(Browser("work-1", "mail"), FOUND["page"], "work-*")
    assert caught.value.details["reason"] == "profile_changed"


async def test_mouse_and_keyboard_are_refused_because_a_file_dialog_shows_all_profiles() -> None:
    with pytest.raises(PermissionDenied, match="not on the screen"):
        await called(Browser("work-1"), FOUND["click"], "work-*")


async def test_what_runs_when_the_profile_changes_ends() -> None:
    begun, ended = asyncio.Event(), asyncio.Event()

    async def proceed() -> str:
        begun.set()
        try:
            await asyncio.sleep(60)
        finally:
            ended.set()
        return "done"

    guard = ProfileGuard(Browser("work-1").profile)
    call = Call(Caller("someone", profiles=("work-*",)), "1")
    running = asyncio.create_task(guard.guard(FOUND["page"], None, call, proceed))
    await begun.wait()
    await guard.interrupt()
    assert ended.is_set()
    with pytest.raises(Conflict) as caught:
        await running
    assert caught.value.details["reason"] == "profile_changed"
    await guard.interrupt()


async def test_a_call_whose_client_is_gone_ends_with_it() -> None:
    begun, ended = asyncio.Event(), asyncio.Event()

    async def proceed() -> None:
        begun.set()
        try:
            await asyncio.sleep(60)
        finally:
            ended.set()

    guard = ProfileGuard(Browser("work-1").profile)
    call = Call(Caller("someone", profiles=("work-*",)), "1")
    running = asyncio.create_task(guard.guard(FOUND["page"], None, call, proceed))
    await begun.wait()
    running.cancel()
    with pytest.raises(asyncio.CancelledError):
        await running
    await asyncio.wait_for(ended.wait(), 30)
