"""What an environment variable is: kinds, secrets, sections."""

from collections.abc import Callable
from dataclasses import dataclass

import pytest

from sandbox_server.settings.kinds import (
    BOOLEAN,
    KERNEL_NAME,
    NODE_NAME,
    PATH,
    SECRET,
    Secret,
    account_name,
    boolean,
    choice,
    integer,
    read,
    seconds,
    variable,
)
from tests.tables import table_test


@dataclass(frozen=True)
class Section:
    """A section of the tests"""

    count: int = variable("COUNT", integer(1, 5), 3, "How many.")
    key: Secret | None = variable("KEY", SECRET, None, "What opens it.")
    fixed: str = "no variable"


def test_a_secret_shows_nowhere_and_is_read_on_purpose() -> None:
    secret = Secret("hunter2")
    shown = f"{secret} {secret!r} {[secret]} {Section(key=secret)}"
    assert "hunter2" not in shown
    assert secret.reveal() == "hunter2"


@pytest.mark.parametrize(
    ("text", "value"), [("true", True), ("YES", True), ("1", True), (" on ", True), ("false", False), ("0", False), ("No", False)]
)
def test_booleans_are_read_as_people_write_them(text: str, value: bool) -> None:
    assert boolean(text) is value


@table_test(
    [
        (boolean, "maybe", "must be true or false"),
        (integer(1, 5).parse, "6", "must be from 1 to 5"),
        (integer(1, 5).parse, "three", "must be a whole number"),
        (integer(1, 5).parse, "2.5", "must be a whole number"),
        (seconds(0.5, 10).parse, "0.1", "must be from 0.5 to 10 seconds"),
        (seconds(0.5, 10).parse, "nan", "must be from 0.5 to 10 seconds"),
        (seconds(0.5, 10).parse, "soon", "must be a number of seconds"),
        (choice("on", "off").parse, "half", "must be one of on, off"),
        (PATH.parse, "work", "must be an absolute path"),
        (account_name, "root", "must not be root"),
        (account_name, "control", "must not be root, control"),
        (account_name, "a b", "must be a user name"),
        (account_name, "-rf", "must be a user name"),
        (account_name, "Zoë", "must be a user name"),
    ]
)
def test_a_bad_value_says_what_would_be_a_good_one(parse: Callable[[str], object], text: str, reason: str) -> None:
    with pytest.raises(ValueError, match=reason):
        parse(text)


def test_the_ends_of_a_range_are_in_it() -> None:
    kind = integer(1, 5)
    assert (kind.parse("1"), kind.parse("5")) == (1, 5)


def test_a_section_is_read_from_its_variables_and_keeps_its_defaults() -> None:
    problems: list[str] = []
    section = read(Section, {"COUNT": "4", "OTHER": "x"}, problems)
    assert (section.count, section.key, section.fixed, problems) == (4, None, "no variable", [])


def test_an_empty_or_blank_variable_is_unset() -> None:
    problems: list[str] = []
    assert read(Section, {"COUNT": "", "KEY": "  "}, problems) == Section()
    assert problems == []


def test_every_bad_variable_of_a_section_is_named() -> None:
    problems: list[str] = []
    read(Section, {"COUNT": "x"}, problems)
    assert problems == ["COUNT must be a whole number from 1 to 5"]


def test_flags_say_yes_by_their_value() -> None:
    assert BOOLEAN.parse("true") is True


@pytest.mark.parametrize("text", ["3.12", "python3.12", " Python3.12 "])
def test_a_python_is_named_as_people_write_it(text: str) -> None:
    assert KERNEL_NAME.parse(text) == "python3.12"


@pytest.mark.parametrize("text", ["22", "node22", "v22"])
def test_a_node_is_named_as_people_write_it(text: str) -> None:
    assert NODE_NAME.parse(text) == "node22"


@pytest.mark.parametrize("text", ["2.7", "3.12.1", "pypy", "latest"])
def test_a_runtime_that_nobody_has_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="must be"):
        KERNEL_NAME.parse(text)
    with pytest.raises(ValueError, match="must be"):
        NODE_NAME.parse(text)
