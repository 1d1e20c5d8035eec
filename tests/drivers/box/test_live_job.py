import time
from collections.abc import Callable, Iterator
from typing import cast

import pytest

from sandbox_server.drivers.box import live_job
from sandbox_server.drivers.box.box import BoxError
from sandbox_server.drivers.box.layer_store import StoreError
from sandbox_server.drivers.box.lifecycle import Answer, BoxLifecycle
from sandbox_server.drivers.box.live_job import LiveJob
from sandbox_server.drivers.ipc import descriptor_passing


class Lifecycle:
    """A box that can be paused."""

    def __init__(self) -> None:
        self.made, self.box = 1, object()
        self.done: list[str] = []

    def pause(self) -> None:
        self.done.append("pause")

    def go_on(self) -> None:
        self.done.append("go on")

    def keep_copy(self, _: object, copied: dict[str, object]) -> Answer:
        self.done.append("keep")
        return copied


class Site:
    """A job, whose worker is the test."""

    def __init__(self) -> None:
        self.lifecycle = Lifecycle()
        self.outcome: Callable[[], Answer] | None = None
        self.job = LiveJob(cast("BoxLifecycle", self.lifecycle), {}, self._reply)

    def close(self) -> None:
        self.job.ours.close()
        self.job.theirs.close()

    def _reply(self, work: Callable[[], Answer]) -> None:
        self.outcome = work

    def say(self, **message: object) -> None:
        descriptor_passing.send(self.job.theirs, message)
        self.job.on_message()

    def told(self) -> Answer:
        assert self.outcome
        return self.outcome()


@pytest.fixture
def site() -> Iterator[Site]:
    made = Site()
    yield made
    made.close()


def test_the_box_stands_still_between_what_the_worker_says_and_the_length_of_it_is_told(site: Site) -> None:
    site.say(pause=True)
    assert descriptor_passing.receive(site.job.theirs)[0] == {"paused": True}
    site.say(**{"continue": True})
    site.say(ok={"id": "x"})
    told = site.told()
    assert site.lifecycle.done == ["pause", "go on", "keep"]
    assert 0 <= cast("float", told["pause_seconds"]) < 5


def test_a_worker_that_dies_lets_the_box_go_on_and_keeps_nothing(site: Site) -> None:
    site.say(pause=True)
    site.job.theirs.close()
    site.job.on_message()
    assert site.lifecycle.done == ["pause", "go on"]
    with pytest.raises(BoxError, match="nothing was kept"):
        site.told()


def test_what_the_worker_refuses_is_passed_on(site: Site) -> None:
    site.say(refused="resource_exhausted", message="full")
    with pytest.raises(StoreError, match="full"):
        site.told()


def test_a_copy_of_a_box_that_ended_meanwhile_is_not_kept(site: Site) -> None:
    site.lifecycle.made = 2
    site.say(ok={"id": "x"})
    with pytest.raises(BoxError, match="ended"):
        site.told()


def test_one_of_a_box_that_has_ended_is_given_up_and_keeps_nothing(site: Site) -> None:
    site.say(pause=True)
    assert not site.job.stale
    site.lifecycle.made = 2
    assert site.job.stale
    site.job.end_stale()
    assert site.lifecycle.done == ["pause", "go on"]
    with pytest.raises(BoxError, match="ended"):
        site.told()


def test_who_stands_still_for_too_long_is_overdue(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    assert not site.job.overdue
    site.say(pause=True)
    assert not site.job.overdue
    monkeypatch.setattr(live_job, "MAX_PAUSE_SECONDS", -10.0)
    assert time.monotonic()
    assert site.job.overdue
