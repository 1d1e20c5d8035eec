"""A process as the text that a sandbox is given."""

import subprocess

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tandem_fleet.e2b.command_text import CommandText

WORDS = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), max_size=20)


@given(
    st.lists(WORDS, min_size=1, max_size=5).filter(lambda words: words[0] != "sudo"), st.none() | WORDS, st.none() | WORDS, st.booleans()
)
def test_what_is_written_is_read_again(argv: list[str], tag: str | None, root_in: str | None, takes_input: bool) -> None:
    text = CommandText(tuple(argv), tag, root_in, takes_input)
    assert CommandText.parse(str(text)) == text


@pytest.mark.parametrize("text", ["ls 'a", "echo hi", "", ": x", "exec"])
def test_the_text_of_another_is_not_misread(text: str) -> None:
    assert CommandText.parse(text).argv


def test_a_shell_runs_it_without_a_shell_s_reading() -> None:
    text = CommandText(("printf", "%s.", "$HOME", "a b", "`id`", "it's"), "a; b", takes_input=False)
    done = subprocess.run(["bash", "-c", str(text)], capture_output=True, text=True, check=True)
    assert done.stdout == "$HOME.a b.`id`.it's."
    empty = subprocess.run(
        ["bash", "-c", str(CommandText(("cat",), takes_input=False))], input="x", capture_output=True, text=True, check=True
    )
    assert empty.stdout == ""
