"""What is to be seen."""

from collections.abc import Iterator
from typing import Any

from sandbox_server.core.operation import operations
from sandbox_server.drivers.browser.elements import ElementIndex
from sandbox_server.features.browser.running import BrowserRunning
from sandbox_server.parts import screen
from sandbox_server.parts.shared import Part, Shared
from sandbox_server.settings import load


def composed(**environ: str) -> Part:
    """The part with these variables."""
    return screen.part(Shared(load(environ)))


def test_a_sandbox_without_a_browser_has_none_to_restart() -> None:
    running = [feature for feature in composed(DISABLE_BROWSER="1").features if isinstance(feature, BrowserRunning)]

    assert running == []
    assert any(isinstance(feature, BrowserRunning) for feature in composed().features)


def test_every_recording_counts_as_activity() -> None:
    shared = Shared(load({}))
    screen.part(shared)

    assert len(shared.activity.recordings) == 2
    assert not shared.activity.active()


def test_an_element_has_one_number_whoever_lists_it() -> None:
    found = {id(elements) for feature in composed().features for elements in within(feature, ElementIndex, set())}

    assert len(found) == 1


def within[T](thing: Any, kind: type[T], seen: set[int]) -> Iterator[T]:
    """Everything of a class that a feature, or what of ours it is made of, holds."""
    if id(thing) in seen:
        return
    seen.add(id(thing))
    if isinstance(thing, kind):
        yield thing
    for held in getattr(thing, "__dict__", {}).values():
        if type(held).__module__.startswith("sandbox_server"):
            yield from within(held, kind, seen)


def test_no_two_features_of_it_share_an_operation() -> None:
    names = [operation.name for feature in composed().features for operation in operations(feature)]

    assert len(names) == len(set(names))
