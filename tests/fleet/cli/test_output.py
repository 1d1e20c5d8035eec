"""What commands have in common."""

import pytest
from tandem_fleet.cli.output import say, table


def test_what_is_said_to_people_is_not_what_programs_read(capsys: pytest.CaptureFixture[str]) -> None:
    say("ready")
    assert tuple(capsys.readouterr()) == ("", "tandem: ready\n")


def test_the_columns_of_a_table_are_as_wide_as_their_widest_cell(capsys: pytest.CaptureFixture[str]) -> None:
    table([("A", "B"), ("long", ""), ("", "x")])
    assert capsys.readouterr().out == "A     B\nlong\n      x\n"
