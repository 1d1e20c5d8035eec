"""What the recorder learns from the rest."""

from sandbox_server.parts import receipts, screen
from sandbox_server.parts.shared import Shared
from sandbox_server.settings import load


def test_where_the_browser_goes_and_what_people_change_is_followed_where_there_is_a_browser() -> None:
    shared = Shared(load({}))
    screen.part(shared)
    part = receipts.part(shared)

    assert [type(each).__name__ for each in part.opened] == ["NavigationEntries", "Receipts", "ScreenRecorder"]
    assert shared.receipts
    still = Shared(load({"RECORDER_VIDEO": "off"}))
    screen.part(still)
    assert [type(each).__name__ for each in receipts.part(still).opened] == ["NavigationEntries", "Receipts"]
    assert receipts.part(Shared(load({"DISABLE_BROWSER": "1"}))).opened == ()
