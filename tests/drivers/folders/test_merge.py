import itertools

import pytest

from sandbox_server.drivers.folders.merge import free_name, merge
from sandbox_server.drivers.folders.version import FileRecord

A, B, C = (FileRecord(1, letter * 64) for letter in "abc")


@pytest.mark.parametrize(
    ("base", "here", "store", "files", "written", "removed"),
    [
        (A, A, B, {"f": B}, {"f"}, []),
        (A, B, A, {"f": B}, set(), []),
        (A, None, A, {}, set(), []),
        (A, A, None, {}, set(), ["f"]),
        (A, B, None, {"f": B}, set(), []),
        (A, None, B, {"f": B}, {"f"}, []),
        (None, None, B, {"f": B}, {"f"}, []),
        (A, B, C, {"f": B, "f.conflict-7": C}, {"f.conflict-7"}, []),
    ],
)
def test_each_row_of_the_table(
    base: FileRecord | None,
    here: FileRecord | None,
    store: FileRecord | None,
    files: dict[str, FileRecord],
    written: set[str],
    removed: list[str],
) -> None:
    first, second, third = ({"f": record} if record else {} for record in (base, here, store))
    merged = merge(first, second, third, 7, removals=True)
    assert (merged.files, set(merged.written), merged.removed) == (files, written, removed)


def test_without_removals_what_is_missing_here_comes_back() -> None:
    assert merge({"f": A}, {}, {"f": A}, 1, removals=False).written == {"f": A}


def test_nothing_that_changed_on_either_side_is_ever_lost() -> None:
    for base, here, store in itertools.product((None, A, B, C), repeat=3):
        first, second, third = ({"f": record} if record else {} for record in (base, here, store))
        kept = set(merge(first, second, third, 1, removals=True).files.values())
        assert {record for record in (here, store) if record and record != base} <= kept


def test_a_file_where_a_directory_is_goes_beside_it() -> None:
    merged = merge({}, {"a": A}, {"a/b": B}, 2, removals=True)
    assert merged.files == {"a": A, "a.conflict-2/b": B}
    merged = merge({}, {"a/b": B}, {"a": A}, 2, removals=True)
    assert merged.files == {"a/b": B, "a.conflict-2": A}


def test_a_name_that_is_taken_is_not_used() -> None:
    assert free_name("a.txt", 1, {"a.txt": 1, "a.conflict-1.txt": 1}) == "a.conflict-1-2.txt"
    assert free_name(".rc", 1, {".rc": 1}) == ".rc.conflict-1"
