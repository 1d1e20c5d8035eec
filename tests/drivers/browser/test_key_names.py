import pytest

from sandbox_server.drivers.browser.key_names import combination, key_name
from tests.tables import table_test


@table_test(
    [
        ("enter", "Enter"),
        ("Return", "Enter"),
        ("page_down", "PageDown"),
        ("Arrow-Left", "ArrowLeft"),
        ("ctrl", "Control"),
        ("F12", "F12"),
        ("space", " "),
        ("a", "a"),
        ("A", "A"),
        ("世", "世"),
        ("KeyA", "KeyA"),
        ("F13", None),
        ("", None),
        ("entre", None),
    ]
)
def test_a_key_goes_by_any_of_its_names(text: str, name: str | None) -> None:
    assert key_name(text) == name


@pytest.mark.parametrize(
    ("text", "keys"),
    [
        ("Control+A", "Control+A"),
        ("ctrl+shift+t", "Control+Shift+t"),
        ("+", "+"),
        ("ctrl++", "Control++"),
        ("ctrl+nokey", None),
        ("ctrl+", None),
    ],
)
def test_keys_are_pressed_together(text: str, keys: str | None) -> None:
    assert combination(text) == keys
