"""Follows one sandbox: what it asks of people, and who drives."""

import asyncio
import time
from collections.abc import Callable, Mapping

from pydantic import BaseModel, ConfigDict

from tandem_fleet.people.answers import UnusableAnswer, parsed, plain
from tandem_fleet.people.questions import Question, questions_of
from tandem_fleet.people.sandbox_calls import SandboxCalls
from tandem_fleet.sandboxes import Sandbox

FIRST_PAUSE, LONGEST_PAUSE = 1.0, 60.0
"""Seconds between two tries."""
BETWEEN_EVENTS = 0.5
QUESTIONS, CONTROL = "/v1/handoffs/events", "/v1/control/events?viewing=false"
STATES = frozenset({"agent", "human", "shared", "frozen"})


class Driver(BaseModel):
    """Who drives a sandbox."""

    model_config = ConfigDict(frozen=True)

    state: str
    """`agent`, `human`, `shared` or `frozen`."""
    holder: str = ""
    """The person."""
    private: bool = False
    """Whether that person alone sees the screen."""


class SandboxWatch:
    """What is known of one sandbox that runs. `changed` is called when that changes, `asked` when a question came or went."""

    def __init__(self, sandbox: Sandbox, calls: SandboxCalls, changed: Callable[[], None], asked: Callable[[], None]) -> None:
        self.sandbox = sandbox
        self.questions: list[Question] = []
        self.driver: Driver | None = None
        self.begun_at = time.monotonic()
        self.reached = asyncio.Event()
        """Set once it has said what it asks, or could not."""
        self._calls = calls
        self._changed, self._asked = changed, asked
        self._tasks = [
            asyncio.create_task(self._follow(QUESTIONS, "handoffs", self._take_questions, self._lose_questions)),
            asyncio.create_task(self._follow(CONTROL, "control", self._take_driver, self._lose_driver)),
        ]

    async def close(self) -> None:
        """Stop following."""
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    async def _follow(self, path: str, wanted: str, take: Callable[[bytes], None], lose: Callable[[], None]) -> None:
        """Take each event, and connect again when the stream breaks, after longer and longer pauses."""
        pause = FIRST_PAUSE
        while True:
            try:
                async with self._calls.follow(self.sandbox, path) as events:
                    async for name, data in events:
                        if name == wanted:
                            take(data)
                            pause = FIRST_PAUSE
                            await asyncio.sleep(BETWEEN_EVENTS)
            except UnusableAnswer:
                lose()
            self.reached.set()
            await asyncio.sleep(pause)
            pause = min(pause * 2, LONGEST_PAUSE)

    def _take_questions(self, data: bytes) -> None:
        found = questions_of(self.sandbox, data)
        self.reached.set()
        if found != self.questions:
            self.questions = found
            self._asked()

    def _lose_questions(self) -> None:
        self.reached.set()
        if self.questions:
            self.questions = []
            self._asked()

    def _take_driver(self, data: bytes) -> None:
        found = driver_of(data)
        if found != self.driver:
            self.driver = found
            self._changed()

    def _lose_driver(self) -> None:
        if self.driver:
            self.driver = None
            self._changed()


def driver_of(data: bytes) -> Driver:
    """Who drives, as an event says. Raises `UnusableAnswer`."""
    told = parsed(data)
    control = told.get("control") if isinstance(told, Mapping) else None
    if not isinstance(control, Mapping) or not isinstance(control.get("state"), str) or control["state"] not in STATES:
        raise UnusableAnswer("the sandbox did not say who drives")
    return Driver(state=control["state"], holder=plain(control.get("holder"), 80), private=isinstance(control.get("private"), str))
