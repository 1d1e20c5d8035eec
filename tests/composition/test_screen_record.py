"""What the recorder learns of the screen."""

from typing import Any

import pytest

from sandbox_server.composition.activity import Activity
from sandbox_server.composition.browser import build_browser
from sandbox_server.composition.desktop import build_desktop
from sandbox_server.composition.screen_record import ScreenRecord, build_screen_record, is_act
from tests.composition.made import first


def record(**environ: str) -> ScreenRecord:
    """The record with these variables."""
    made, activity = first(**environ), Activity()
    screen = build_desktop(made.machine, made.control, made.work)
    browser = build_browser(made.machine, made.control, screen, activity, made.approvals)
    return build_screen_record(made.machine, made.control, made.recorder, screen.desktop, browser.downloads)


def opened(found: ScreenRecord) -> list[str]:
    """The classes of what it opens."""
    return [type(each).__name__ for each in found.part.opened]


def test_where_the_browser_goes_and_what_people_change_is_followed_where_there_is_a_browser() -> None:
    whole, without = record(), record(DISABLE_BROWSER="1")

    assert opened(whole) == ["NavigationEntries", "Receipts", "ScreenRecorder"]
    assert whole.receipted
    assert (opened(without), without.receipted) == ([], None)


def test_no_video_is_made_where_it_is_off() -> None:
    assert opened(record(RECORDER_VIDEO="off")) == ["NavigationEntries", "Receipts"]


@pytest.mark.parametrize(
    ("entry", "acts"),
    [
        ({"kind": "navigation", "event": "opened", "was": None, "now": "about:blank"}, False),
        ({"kind": "navigation", "event": "moved", "was": "about:blank", "now": "https://example.org/"}, True),
        ({"kind": "navigation", "event": "opened", "was": None, "now": "https://example.org/"}, True),
        ({"kind": "navigation", "event": "closed", "was": "about:blank", "now": None}, True),
        ({"kind": "input", "operation": "browser.page.new"}, True),
        ({"kind": "control", "event": "state"}, False),
        ({"kind": "control", "event": "connected"}, False),
        ({"kind": "control", "event": "took"}, True),
        ({"kind": "log", "event": "start"}, False),
    ],
)
def test_what_the_browser_does_by_itself_when_it_starts_is_no_act_to_record(entry: dict[str, Any], acts: bool) -> None:
    assert is_act(entry) is acts
