"""Texts of others, as every database and every terminal takes them."""

from tandem_fleet.printable import printable


def test_what_no_database_keeps_and_no_terminal_should_get_is_escaped() -> None:
    assert printable("GET /v1/sandboxes?x=1 \u00e4", 100) == "GET /v1/sandboxes?x=1 \u00e4"
    assert printable("a\0\ud800\u202e", 100) == r"a\x00\ud800\u202e"
    assert printable("\n" * 10, 5) == r"\n\n" + "\\"
