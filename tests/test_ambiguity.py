"""What is called linear is linear, and what is not is found."""

from tests.ambiguity import problem
from tests.tables import table_test

MATCHED = [
    r"[0-9a-f]{8}",
    r"[a-z]+:\d{1,5}",
    r"(?:\s|//)x",
    r"https?://[^/]+/",
    r"a+b",
    r"(?:a|b)*c",
    r"[a-z]+(?:[.-]+[a-z]+)*",
    r"a{2,}b",
    r"x(?:ab?)*",
]
SEARCHED = [r"\x1b\[[0-9;]*m", r"[^\x00-\x1f]+", r'"[^"]*"', r"^[a-z]+;", r":[0-9]{1,5}$", r"\bab+"]
NOT_MATCHED = [
    r"(a+)+b",
    r"(a*)*b",
    r"(a|a)*b",
    r"(a|[ab]b)*c",
    r"a*a*b",
    r".*x",
    r"(\s*//[^\n]*)*\s*",
    r"(a?|b?)*c",
    r"((a?b?)c)*d(a?|b?)",
    r"(?:x+,?)+y",
    r"([a-z]+)*1",
    r"(a)\1",
    r"(?i)(?:sx|\u017fx)*y",
]
NOT_SEARCHED = [r"a+b", r"\r+\n", r"[a-z]+:", r"\s+$", r"\r+\Z", r"x[^y]*y", r"[a-c]+\b", r"(?:a(?!b))+"]


@table_test(MATCHED + SEARCHED)
def test_a_pattern_with_one_way_through_is_linear(pattern: str) -> None:
    assert problem(pattern, searched=pattern in SEARCHED) is None


@table_test(NOT_MATCHED + NOT_SEARCHED)
def test_a_pattern_that_may_go_wrong_for_long_is_found(pattern: str) -> None:
    assert problem(pattern, searched=pattern in NOT_SEARCHED)
