"""What a profile may be called, and where it is."""

import pytest

from sandbox_server.drivers.profiles.names import is_name, profile_folder


@pytest.mark.parametrize("text", ["mail", "a", "work-2", "0_x", "x" * 63])
def test_small_letters_digits_dashes_and_underscores_are_a_name(text: str) -> None:
    assert is_name(text)


@pytest.mark.parametrize("text", ["", "-x", ".x", "a/b", "..", "A", "ä", "x" * 64, "a\n", "a b", ".drafts"])
def test_nothing_else_is(text: str) -> None:
    assert not is_name(text)


def test_default_is_the_container_s_and_others_are_below_the_root() -> None:
    assert profile_folder("/kept", "/home/d/chromium", "default") == "/home/d/chromium"
    assert profile_folder("/kept", "/home/d/chromium", "mail") == "/kept/mail/chromium"
