"""Reading what sandboxes answer."""

import pytest
from tandem_fleet.people.answers import UnusableAnswer, parsed, plain, shown_labels


@pytest.mark.parametrize("content", [b"", b"{", b"\xff", b"[" * 200_000, b"{" + b'"a":{' * 100_000])
def test_what_is_no_json_is_refused(content: bytes) -> None:
    with pytest.raises(UnusableAnswer):
        parsed(content)


def test_text_is_shown_without_what_hides_or_turns_it() -> None:
    assert plain("a\u202eb\u200bc\x00d\x1b[31m\ud800\u2028e") == "a b c d [31m  e"
    assert plain("<b>bold</b>") == "<b>bold</b>"
    assert plain("a\n\n\n\n\nb") == "a\n\nb"


@pytest.mark.parametrize("value", [None, 7, ["a"], {"a": 1}, "", "  \n "])
def test_what_is_no_text_is_empty(value: object) -> None:
    assert plain(value) == ""


def test_labels_are_text() -> None:
    assert shown_labels({"a\u202e": "b\u202ec", "long": "x" * 1000}) == {"a": "b c", "long": "x" * 199 + "…"}


def test_text_is_cut() -> None:
    assert plain("x" * 1_000_000, 10) == "x" * 9 + "…"
