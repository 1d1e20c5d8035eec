"""The tables of rings name tests that exist, and a marker goes to what they name alone."""

import subprocess
import sys
from pathlib import Path

from tests.rings import AREAS, BUILDS, FULL, IMPURE, LANDING, LONG, PURE, TIMING, belongs, is_pure, markers_of

TESTS = Path(__file__).parent


def test_every_name_of_the_tables_is_of_a_test() -> None:
    assert [name for name in (*FULL, *BUILDS, *LANDING, *LONG) if not (TESTS / name).exists()] == []
    assert [name for name in PURE if not any(TESTS.glob(f"{name}*"))] == []
    assert [name for name in IMPURE if not (TESTS / name).is_file() or not name.startswith(PURE)] == []
    assert [file for file in TIMING if not (TESTS / file).is_file()] == []
    named = [(file, function) for file, functions in TIMING.items() for function in functions]
    assert [each for each in named if f"def {each[1]}(" not in (TESTS / each[0]).read_text()] == []


def test_every_area_is_of_the_repository_and_has_tests() -> None:
    assert [area for area in AREAS if not (TESTS.parent / area).exists()] == []
    begins = {begin for those in AREAS.values() for begin in those}
    assert [begin for begin in begins if not any(TESTS.glob(f"{begin}*"))] == []


def test_a_marker_goes_to_the_function_that_is_named_or_to_all_of_a_file() -> None:
    assert markers_of("tests/image/test_egress_load.py::test_any[a::b]") == ["timing"]
    assert markers_of("tests/core/test_tasks.py::test_a_started_task_is_kept_until_it_has_ended") == ["timing"]
    assert markers_of("tests/test_growth.py::test_a_text_that_doubles_takes_less_than_three_times_as_long[a::b]") == ["timing"]
    assert markers_of("tests/core/test_tasks.py::test_another") == []
    assert markers_of("tests/examples/test_agent.py::test_any") == ["full"]


def test_what_uses_the_shared_containers_alone_lands_and_of_the_others_what_is_listed() -> None:
    assert markers_of("tests/image/test_files.py::test_any", ["folder", "sandbox"]) == []
    assert markers_of("tests/image/test_files.py::test_any", ["mended"]) == []
    assert markers_of("tests/image/test_files.py::test_any", ["sandbox", "sandbox_with"]) == ["full"]
    assert markers_of("tests/image/test_busy.py::test_any", ["busy"]) == ["full"]
    assert markers_of("tests/image/test_attacks.py::test_any", ["attacked"]) == []
    assert markers_of("tests/image/test_attacks.py::test_any", ["start_sandbox"]) == ["full"]
    assert markers_of("tests/core/test_operation.py::test_any", []) == []


def test_a_change_adds_what_is_not_run_otherwise_of_its_files_and_of_what_it_is_about() -> None:
    rules = ["sandbox_server/egress/app.py"]
    assert belongs("image/test_egress_api.py", rules)
    assert not belongs("image/test_hooks.py", rules)
    assert belongs("drivers/box/test_live_checkpoint.py", ["sandbox_server/drivers/box/daemon.py"])
    assert not belongs("drivers/box/test_live_checkpoint.py", ["sandbox_server/drivers/files/files.py"])
    assert belongs("core/test_operation.py", ["tests/core/test_operation.py"])
    assert not belongs("image/test_variants.py", ["tests/image/test_variants.py"])
    assert not belongs("core/test_operation.py", [])
    assert markers_of("tests/image/test_egress_api.py::test_any", [], changed=rules) == ["full", "changed"]
    assert markers_of("tests/image/test_egress_levels.py::test_any", [], changed=rules) == []
    assert markers_of("tests/image/test_egress_levels.py::test_any", [], slow=True, changed=rules) == ["changed"]
    assert markers_of("tests/image/test_egress_load.py::test_any", [], changed=rules) == ["timing"]


def test_what_is_pure_is_of_a_folder_that_is_and_no_exception() -> None:
    assert is_pure("core/http/test_multipart.py")
    assert is_pure("test_patterns.py")
    assert not is_pure("cli/test_main.py")
    assert not is_pure("image/test_boot.py")


def test_of_what_is_pure_nothing_else_is_read_and_nothing_that_measures_is_run() -> None:
    command = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", "--collect-only", "-q", "-m", "pure", "tests/cli", "tests/core"]
    done = subprocess.run(command, cwd=TESTS.parent, capture_output=True, text=True, check=True)
    assert "tests/cli/test_options.py::" in done.stdout
    assert "tests/cli/test_main.py::" not in done.stdout
    assert "tests/core/test_tasks.py::" in done.stdout
    assert f"::{TIMING['core/test_tasks.py'][0]}" not in done.stdout
