"""The browser on the desktop."""

from collections.abc import Iterator
from typing import Any

from sandbox_server.composition.activity import Activity
from sandbox_server.composition.browser import build_browser
from sandbox_server.composition.desktop import build_desktop
from sandbox_server.composition.part import ProductPart
from sandbox_server.core.operation import operations
from sandbox_server.drivers.browser.elements import ElementIndex
from sandbox_server.features.browser.browser_process import BrowserRunning
from sandbox_server.features.control.private_mode import SecretFocus
from tests.composition.made import first


def counted(activity: Activity, **environ: str) -> ProductPart:
    """The browser with these variables, whose recordings count there."""
    made = first(**environ)
    return build_browser(made.machine, made.control, build_desktop(made.machine, made.control, made.work), activity, made.approvals).part


def composed(**environ: str) -> ProductPart:
    """The browser with these variables."""
    return counted(Activity(), **environ)


def test_a_sandbox_without_a_browser_has_none_to_restart() -> None:
    running = [feature for feature in composed(DISABLE_BROWSER="1").features if isinstance(feature, BrowserRunning)]

    assert running == []
    assert any(isinstance(feature, BrowserRunning) for feature in composed().features)


def test_fields_for_secrets_are_watched_where_there_is_a_browser_and_that_is_wanted() -> None:
    def watched(**environ: str) -> bool:
        return any(isinstance(each, SecretFocus) for each in composed(**environ).opened)

    assert (watched(), watched(DISABLE_BROWSER="1"), watched(PRIVATE_FOCUS="off")) == (True, False, False)


def test_a_recording_of_a_page_counts_as_activity() -> None:
    activity = Activity()
    counted(activity)

    assert len(activity._recordings) == 1
    assert not activity.active()


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
