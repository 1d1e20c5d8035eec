"""The order of the guards, in the code and in the documentation."""

import re
from pathlib import Path

from sandbox_server import app
from sandbox_server.composition.guards import guards_of, names_of
from sandbox_server.settings import load
from tests.composition.made import first

PAGE = Path(__file__).parent.parent.parent / "docs" / "architecture.md"
HEADING = "## Guards, in order\n"


def documented() -> list[str]:
    """The names that the page lists."""
    _, heading, rest = PAGE.read_text("utf-8").partition(HEADING)
    assert heading, f"{PAGE.name} has no heading {HEADING.strip()!r}"
    return re.findall(r"^\d+\. `(\w+)`", rest.partition("\n## ")[0], re.MULTILINE)


def test_the_page_lists_the_guards_in_the_order_of_the_code() -> None:
    assert documented() == names_of(app.build(load({})).guards)


def test_every_guard_that_may_refuse_a_call_is_there_from_the_first_call_on() -> None:
    early, whole = names_of(guards_of(first())), names_of(app.build(load({})).guards)

    assert whole == [*early, "EgressHints", "hints_for_each_caller"]


def test_a_call_is_counted_and_recorded_before_it_may_be_refused() -> None:
    made = first()

    assert guards_of(made)[:2] == (made.gateway.audit, made.recorder.guard)


def test_whether_a_call_may_act_is_judged_before_the_box_is_resumed_or_kept_for_it() -> None:
    made = first()
    guards = guards_of(made)

    judged, resumed, kept = (guards.index(each) for each in (made.control.guard, made.work.suspension.guard, made.work.checkpoints.guard))
    assert judged < resumed < kept
