"""What joins the first parts."""

from sandbox_server.composition.rest import build_rest
from tests.composition.made import first


def test_the_parts_are_opened_before_what_uses_them() -> None:
    names = [type(each).__name__ for part in build_rest(first()).parts for each in part.opened]

    assert names.index("ForwardProxy") < names.index("Desktop")
    assert names.index("Desktop") < names.index("Downloads") < names.index("NavigationEntries") < names.index("HandoffNotifier")


def test_what_tells_of_a_persons_changes_is_there_where_there_is_a_browser() -> None:
    assert build_rest(first()).receipted
    assert build_rest(first(DISABLE_BROWSER="1")).receipted is None


def test_all_that_runs_or_records_counts_as_activity() -> None:
    made = first()
    build_rest(made)

    assert (len(made.work.activity._commands), len(made.work.activity._recordings)) == (4, 2)
