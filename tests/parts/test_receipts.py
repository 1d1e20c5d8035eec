"""What the recorder learns from the rest."""

from sandbox_server.parts import receipts
from sandbox_server.parts.shared import Shared
from sandbox_server.settings import load


def test_where_the_browser_goes_is_followed_unless_there_is_none() -> None:
    assert [type(each).__name__ for each in receipts.part(Shared(load({}))).opened] == ["NavigationEntries"]
    assert receipts.part(Shared(load({"DISABLE_BROWSER": "1"}))).opened == ()
