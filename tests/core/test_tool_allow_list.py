import pytest

from sandbox_server.core.tool_allow_list import AllowList, header_of, names_one, read_header


@pytest.mark.parametrize("tools", [None, (), ("a",), ("a_*", "b")])
def test_a_list_survives_its_header(tools: AllowList) -> None:
    read = read_header(header_of(tools) or None)

    for names in (("a",), ("a_b",), ("b", "x"), ("c",)):
        assert names_one(read, names) == names_one(tools, names)


def test_an_empty_list_is_not_no_list() -> None:
    assert not names_one((), ("a",))
    assert not names_one(read_header(header_of(())), ("!a", "a", ""))
    assert names_one(None, ())


def test_a_pattern_that_cannot_be_used_names_nothing() -> None:
    assert not names_one(("*a" * 40,), ["a" * 80])
