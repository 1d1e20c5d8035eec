"""Contexts in their ids."""

import pytest
from tandem_fleet.e2b.code_context import CodeContext, language_of
from tandem_fleet.e2b.connect_protocol import RPCError


@pytest.mark.parametrize("directory", ["/", "/home/gem", "/a b/ä?", "/" + "d" * 59])
def test_an_id_says_all_and_fits_a_session(directory: str) -> None:
    for context in (CodeContext("python", directory), CodeContext.new("typescript", directory)):
        assert CodeContext.parse(context.id) == context
        assert len(context.id) <= 128
    assert CodeContext.new("python", "/").id != CodeContext.new("python", "/").id


@pytest.mark.parametrize(
    "text", ["", "x", "e2b-python-default-", "e2b-python-default-!", "e2b-ruby-default-Lw", "e2b-python-default-_w", "a/b"]
)
def test_another_text_is_no_context(text: str) -> None:
    with pytest.raises(RPCError, match="not found"):
        CodeContext.parse(text)


def test_a_directory_that_is_too_long_is_refused() -> None:
    with pytest.raises(RPCError, match="at most"):
        CodeContext.new("python", "/" + "d" * 60)


def test_languages_have_names() -> None:
    assert [language_of(name) for name in (None, "", "Python", " js ", "ts")] == ["python", "python", "python", "javascript", "typescript"]
    with pytest.raises(RPCError, match="there is no 'r'"):
        language_of("r")
