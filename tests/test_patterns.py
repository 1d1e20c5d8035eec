"""Patterns that take no longer than the text is long, and globs as shells read them."""

import fnmatch
import glob as python_glob
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sandbox_server import patterns

GLOBS = st.text("ab.*?[]!-/\\{}^é\udc80", max_size=10)
NAMES = st.text("ab.-]!\\^é\udc80\n", max_size=8)
PATHS = st.text("ab./é", max_size=8)


@given(GLOBS.filter(lambda text: "/" not in text), NAMES)
def test_a_glob_for_names_finds_what_a_shell_finds(glob: str, name: str) -> None:
    assert (patterns.glob(glob).fullmatch(name) is not None) == fnmatch.fnmatchcase(name, glob)


@given(st.text("ab.*?/é", max_size=8), PATHS)
def test_a_glob_for_paths_finds_what_a_shell_finds(glob: str, path: str) -> None:
    expected = re.match(python_glob.translate(glob, recursive=True, include_hidden=True), path)
    assert (patterns.glob(glob, paths=True).fullmatch(path) is not None) == (expected is not None)


@pytest.mark.parametrize(
    ("glob", "path", "fits"),
    [
        ("src/**/*.py", "src/a.py", True),
        ("src/**/*.py", "src/a/b/c.py", True),
        ("src/*.py", "src/a/b.py", False),
        ("**/x", "x", True),
        ("a/[!b]", "a/c", True),
        ("a[!b]c", "a/c", False),
        ("a/**", "a/b/c", True),
    ],
)
def test_two_stars_go_over_slashes_and_nothing_else_does(glob: str, path: str, fits: bool) -> None:
    assert (patterns.glob(glob, paths=True).fullmatch(path) is not None) == fits


@pytest.mark.parametrize("glob", ["a" * (patterns.MAX_GLOB + 1), "*a" * (patterns.MAX_STARS + 1)])
def test_a_glob_that_is_too_large_is_refused(glob: str) -> None:
    with pytest.raises(ValueError, match="characters"):
        patterns.glob(glob)


@pytest.mark.parametrize("wrong", ["(", r"(a)\1", "(?=a)", "a{5000}", "[\udc80"])
def test_what_the_engine_does_not_take_is_said(wrong: str) -> None:
    with pytest.raises(ValueError, match=r"."):
        patterns.compile(wrong)


def test_a_pattern_that_is_too_large_is_refused() -> None:
    with pytest.raises(ValueError, match="large"):
        patterns.compile("é{900}[^/]{900}" * 40)


@given(st.text("aé\udc80\U0001f600-", max_size=20))
def test_what_is_found_is_counted_in_characters_whatever_they_are(text: str) -> None:
    ours, theirs = patterns.compile("[^-a]+"), re.compile("[^-a]+")
    assert [(found.start(), found.end(), found[0]) for found in ours.finditer(text)] == [
        (found.start(), found.end(), found[0]) for found in theirs.finditer(text)
    ]
    assert ours.sub("<x>", text) == theirs.sub("<x>", text)


def test_a_group_that_took_no_part_is_none() -> None:
    found = patterns.compile("(?P<one>a)|(?P<two>b)").match("bc")
    assert found is not None
    assert (found["one"], found["two"], found[2], found.end()) == (None, "b", "b", 1)


def test_bytes_are_matched_as_bytes() -> None:
    found = patterns.compile(rb"\x1b\[(.)m").search(b"\xff\x1b[\xe9m")
    assert found is not None
    assert (found.start(), found[1]) == (1, b"\xe9")


def test_a_pattern_of_any_text_matches_that_text_alone() -> None:
    text = "a.b*c\udc80 é\n"
    assert patterns.compile(patterns.escape(text)).fullmatch(text)


@pytest.mark.parametrize("pattern", ["(a+)+b", "(a|aa)+$b", "(.*)*x"])
def test_what_makes_other_engines_hang_is_answered_at_once(pattern: str) -> None:
    assert patterns.compile(pattern).search("a" * 100_000) is None
