"""Keys are known by every name that callers use."""

import pytest

from sandbox_server.drivers.x11.keysyms import of_character, of_key
from tests.tables import table_test


@table_test(
    [
        ("enter", 0xFF0D),
        ("ENTER", 0xFF0D),
        ("Return", 0xFF0D),
        ("esc", 0xFF1B),
        ("ctrl", 0xFFE3),
        ("ArrowUp", 0xFF52),
        ("page down", 0xFF56),
        ("f5", 0xFFC2),
        ("win", 0xFFEB),
        ("a", ord("a")),
        ("A", ord("A")),
        ("é", 0xE9),
        ("世", 0x01004E16),
        (" ", 0x20),
    ]
)
def test_a_key_has_its_keysym(name: str, keysym: int) -> None:
    assert of_key(name) == keysym


@pytest.mark.parametrize("name", ["", "nonsense", "ctrl+c"])
def test_what_is_no_key_has_none(name: str) -> None:
    assert of_key(name) is None


def test_line_breaks_and_tabs_are_keys() -> None:
    assert [of_character(character) for character in "\n\t"] == [0xFF0D, 0xFF09]
