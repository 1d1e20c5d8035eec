"""Patterns match what they say, and the browser is asked for at least that."""

import re

import pytest

from sandbox_server.drivers.devtools.globs import MAX_LENGTH, Glob

MATCHING = [
    ("https://a.example/x", "https://a.example/x"),
    ("https://a.example/x", "https://a.example/x#part"),
    ("**/api/*", "https://a.example/v1/api/users"),
    ("**", "https://a.example/"),
    ("**/*.{png,jpg}", "https://a.example/deep/er/a.jpg"),
    ("https://a.example/q?a=*", "https://a.example/q?a=1"),
    ("https://a.example/a\\b", "https://a.example/a\\b"),
]
OTHERS = [
    ("https://a.example/x", "https://a.example/xy"),
    ("**/api/*", "https://a.example/api/users/1"),
    ("https://a.example/q?a=1", "https://a.example/qa=1"),
    ("**/*.{png,jpg}", "https://a.example/a.gif"),
    ("https://a.example/a.b", "https://a.example/aXb"),
]


def asked(pattern: str, url: str) -> bool:
    """Whether the browser asks about an address (`Fetch.RequestPattern`)."""
    parts = re.findall(r"\\.|.", pattern, re.DOTALL)
    expression = "".join({"*": ".*", "?": "."}.get(part) or re.escape(part[-1]) for part in parts)
    return re.fullmatch(expression, url.partition("#")[0], re.DOTALL) is not None


@pytest.mark.parametrize(("pattern", "url"), MATCHING)
def test_a_pattern_matches_its_addresses_and_the_browser_asks_about_them(pattern: str, url: str) -> None:
    assert Glob(pattern).matches(url)
    assert asked(Glob(pattern).wide, url)


@pytest.mark.parametrize(("pattern", "url"), OTHERS)
def test_a_pattern_matches_no_others(pattern: str, url: str) -> None:
    assert not Glob(pattern).matches(url)


def test_a_pattern_with_many_stars_is_refused() -> None:
    with pytest.raises(ValueError, match="stars"):
        Glob("*a" * 40)


@pytest.mark.parametrize("pattern", ["", "{a", "a}", "{a{b}}", "x" * (MAX_LENGTH + 1)])
def test_what_is_no_pattern_is_refused(pattern: str) -> None:
    with pytest.raises(ValueError, match=r"braces|characters"):
        Glob(pattern)
