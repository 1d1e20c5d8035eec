"""Hints of several causes in one answer."""

import pytest

from sandbox_server.core.hints import join_hints


@pytest.mark.parametrize(("hints", "joined"), [((), None), ((None, ""), None), (("one",), "one"), (("one", None, "two"), "one; two")])
def test_hints_are_joined_and_none_stays_none(hints: tuple[str | None, ...], joined: str | None) -> None:
    assert join_hints(*hints) == joined
