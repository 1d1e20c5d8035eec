"""A command whose output is streamed."""

from collections.abc import AsyncIterator
from typing import Any

import pytest

from sandbox_server.core.results import Event
from sandbox_server.features.recorder.recorded_stream import KEPT, recorded_stream

pytestmark = pytest.mark.anyio


class Source:
    """Gives events, and notes that it was closed."""

    def __init__(self, *events: Event) -> None:
        self.events = events
        self.closed = False

    async def given(self) -> AsyncIterator[Event]:
        try:
            for event in self.events:
                yield event
        finally:
            self.closed = True


BEGUN, ENDED = Event("status", {"status": "running", "exit_code": None}), Event("exit", {"status": "completed", "exit_code": 2})


async def test_events_are_passed_on_and_the_end_is_told_once() -> None:
    told = list[tuple[dict[str, Any], str]]()
    written = [Event("output", {"data": "bash "}), Event("output", {"output": "shell "}), Event("output", {"text": "kernel"})]
    events = [BEGUN, *written, ENDED]
    seen = [event async for event in recorded_stream(Source(*events).given(), lambda how, text: told.append((how, text)))]
    assert seen == events
    assert told == [({"exit_code": 2, "status": "completed"}, "bash shell kernel")]


async def test_one_that_nobody_follows_any_more_is_told_as_far_as_it_came() -> None:
    told = list[dict[str, Any]]()
    source = Source(BEGUN, ENDED)
    following = recorded_stream(source.given(), lambda how, _: told.append(how))
    assert await anext(following) == BEGUN
    await following.aclose()  # type: ignore[attr-defined] # it is a generator
    assert told == [{"status": "running"}]
    assert source.closed


async def test_what_is_remembered_of_the_output_is_bounded() -> None:
    told = list[str]()
    events = [Event("output", {"data": "x" * KEPT}), Event("output", {"data": "the end"})]
    async for _ in recorded_stream(Source(*events).given(), lambda _, text: told.append(text)):
        pass
    assert (len(told[0]), told[0][-7:]) == (KEPT, "the end")
