from dataclasses import asdict

import pytest

from sandbox_server.drivers.box.checkpoint_records import MAX_TEXT, Record, text_of
from tests.tables import table_test

GOOD = {"id": "0123abcd", "parent": None, "label": "x", "who": "me", "why": "asked", "created": 1.5}


def test_what_was_written_is_read() -> None:
    record = Record("0123abcd", "89abcdef", "ä", "me", "squashed", 2, 3, 4)
    assert Record.loads(asdict(record)) == record
    assert Record.loads(GOOD).files is None


@table_test(
    [
        {"id": "../../x"},
        {"id": "0123ABCD"},
        {"id": 7},
        {"id": None},
        {"parent": "x"},
        {"parent": 1},
        {"label": 5},
        {"label": ["x"]},
        {"label": None},
        {"label": "x" * (MAX_TEXT + 1)},
        {"label": "\ud800"},
        {"who": {}},
        {"why": "wanted"},
        {"why": []},
        {"created": "now"},
        {"created": float("nan")},
        {"created": float("inf")},
        {"created": True},
        {"created": 10**400},
        {"files": -1},
        {"files": 1.5},
        {"bytes": 1 << 63},
        {"bytes": False},
        {"more": 1},
    ]
)
def test_anything_else_is_refused(wrong: dict[str, object]) -> None:
    with pytest.raises(ValueError, match="a checkpoint's record has"):
        Record.loads(GOOD | wrong)


@pytest.mark.parametrize("written", [None, [], "x", 1, {}, {"id": "0123abcd"}])
def test_what_is_no_record_is_refused(written: object) -> None:
    with pytest.raises(ValueError, match="a checkpoint's record has"):
        Record.loads(written)


def test_text_is_kept_as_far_as_it_can_be_told_again() -> None:
    assert text_of("a\ud800" + "b" * 2 * MAX_TEXT) == "a?" + "b" * (MAX_TEXT - 2)
