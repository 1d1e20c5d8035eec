import pytest
from hypothesis import given
from hypothesis import strategies as st

from sandbox_server.features.file import edits
from sandbox_server.features.file.edits import BadEdit, Mode, insert, number_lines, replace, snippet, view, with_returns, without_returns

TEXT = "one\ntwo\nthree\ntwo\n"


@pytest.mark.parametrize(
    ("mode", "after"), [("FIRST", "one\n2\nthree\ntwo\n"), ("LAST", "one\ntwo\nthree\n2\n"), ("ALL", "one\n2\nthree\n2\n")]
)
def test_which_of_several_is_replaced_can_be_said(mode: Mode, after: str) -> None:
    assert replace(TEXT, "two", "2", mode, "/f").text == after


def test_several_occurrences_are_refused_with_their_lines() -> None:
    with pytest.raises(BadEdit) as error:
        replace(TEXT, "two", "2", None, "/f")
    assert (
        str(error.value)
        == "No replacement was performed. Multiple occurrences of old_str `two` in lines [2, 4]. Please ensure it is unique."
    )


@pytest.mark.parametrize(
    ("old", "new", "why"),
    [
        ("four", "4", "No replacement was performed, old_str `four` did not appear verbatim in /f."),
        ("one", "one", "must be different"),
        ("", "x", "`old_str` is empty"),
    ],
)
def test_a_replacement_that_cannot_be_done_says_why(old: str, new: str, why: str) -> None:
    with pytest.raises(BadEdit, match=why):
        replace(TEXT, old, new, None, "/f")


def test_the_lines_around_a_replacement_are_shown() -> None:
    text = "".join(f"{number}\n" for number in range(1, 21))
    shown = snippet(replace(text, "10\n", "ten\nand a half\n", None, "/f"), "a snippet of /f")
    lines = shown.splitlines()
    assert lines[0] == "Here's the result of running `cat -n` on a snippet of /f:"
    assert (lines[1], lines[-1]) == ("     6\t6", "    16\t15")
    assert lines[5:7] == ["    10\tten", "    11\tand a half"]


@pytest.mark.parametrize(
    ("text", "after", "result"),
    [
        ("a\nb\n", 0, "new\na\nb\n"),
        ("a\nb\n", 1, "a\nnew\nb\n"),
        ("a\nb\n", 2, "a\nb\nnew\n"),
        ("a\nb", 2, "a\nb\nnew"),
        ("", 0, "new\n"),
    ],
)
def test_lines_are_inserted_after_a_line(text: str, after: int, result: str) -> None:
    assert insert(text, "new", after).text == result


@pytest.mark.parametrize("after", [-1, 3])
def test_a_line_that_is_not_there_is_refused(after: int) -> None:
    with pytest.raises(BadEdit, match=r"Invalid `insert_line` parameter: -?\d\. It should be within the range of allowed values: \[0, 2\]"):
        insert("a\nb\n", "new", after)


@pytest.mark.parametrize(
    ("view_range", "shown"),
    [((), ["1\ta", "2\tb", "3\tc"]), ((2, 3), ["2\tb", "3\tc"]), ((2, -1), ["2\tb", "3\tc"]), ((3, 3), ["3\tc"])],
)
def test_a_range_of_lines_is_shown_with_its_numbers(view_range: tuple[int, ...], shown: list[str]) -> None:
    assert [line.strip() for line in view("a\nb\nc", view_range, "/f").splitlines()[1:]] == shown


def test_a_range_beyond_the_end_shows_what_there_is_and_says_so() -> None:
    assert view("a\nb\n", (2, 9), "/f").startswith("NOTE: the file has only 2 lines.\n")


@pytest.mark.parametrize(
    ("view_range", "why"),
    [((1,), "two integers"), ((0, 1), "first element `0`"), ((4, -1), r"\[1, 3\]"), ((3, 2), "second element `2`")],
)
def test_a_range_that_makes_no_sense_says_why(view_range: tuple[int, ...], why: str) -> None:
    with pytest.raises(BadEdit, match=why):
        view("a\nb\nc", view_range, "/f")


def test_an_empty_file_is_one_empty_line() -> None:
    assert view("", (), "/f") == "Here's the result of running `cat -n` on /f:\n     1\t\n"


def test_very_much_text_is_cut_with_a_note(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(edits, "MAX_SHOWN", 10)
    shown = number_lines(["x" * 8 + "\n"] * 3, "/f")
    assert shown.splitlines()[1:] == ["     1\txxxxxxxx", "NOTE: the lines from 2 on are not shown; use `view_range` to see them."]


@given(st.lists(st.text(st.characters(exclude_characters="\r\n", exclude_categories=["Cs"]))))
def test_carriage_returns_go_and_come_back(lines: list[str]) -> None:
    text = "".join(f"{line}\r\n" for line in lines)
    assert with_returns(without_returns(text)) == text


@pytest.mark.parametrize(("text", "every"), [("a\r\nb\r\n", True), ("a\r\nb", True), ("a\r\nb\n", False), ("a\n", False), ("a\r", False)])
def test_lines_have_returns_only_if_all_have(text: str, every: bool) -> None:
    assert edits.has_returns(text) is every
