"""The tables of rings name tests that exist, and a marker goes to what they name alone."""

from pathlib import Path

from tests.rings import FULL, TIMING, markers_of

TESTS = Path(__file__).parent


def test_every_name_of_the_tables_is_of_a_test() -> None:
    assert [name for name in FULL if not (TESTS / name).exists()] == []
    assert [file for file in TIMING if not (TESTS / file).is_file()] == []
    named = [(file, function) for file, functions in TIMING.items() for function in functions]
    assert [each for each in named if f"def {each[1]}(" not in (TESTS / each[0]).read_text()] == []


def test_a_marker_goes_to_the_function_that_is_named_or_to_all_of_a_file() -> None:
    assert markers_of("tests/image/test_egress_load.py::test_any[a::b]") == ["timing"]
    assert markers_of("tests/core/test_tasks.py::test_a_started_task_is_kept_until_it_has_ended") == ["timing"]
    assert markers_of("tests/test_growth.py::test_a_text_that_doubles_takes_less_than_three_times_as_long[a::b]") == ["timing"]
    assert markers_of("tests/core/test_tasks.py::test_another") == []
    assert markers_of("tests/examples/test_agent.py::test_any") == ["full"]
