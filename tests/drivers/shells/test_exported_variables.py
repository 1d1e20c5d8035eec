"""What bash wrote of its variables, and which of it another sandbox gets."""

import subprocess

from sandbox_server.drivers.shells.exported_variables import declared, portable

VALUES = {"MARK": 'a "b" $c `d` \\ e', "LINES_OF": "one\n'two'\t\x1b[1m\x01\\0", "EMPTY": "", "QUOTE": "it's"}


def exported(**variables: str) -> str:
    done = subprocess.run(["/bin/bash", "-c", "export -p"], env=variables, capture_output=True, text=True, check=True)
    return done.stdout


def test_values_are_read_as_bash_wrote_them() -> None:
    found = {each.name: each.value for each in declared(exported(**VALUES))}
    assert {name: found[name] for name in VALUES} == VALUES


def test_what_a_shell_started_with_and_what_is_secret_or_its_own_is_left_out() -> None:
    text = exported(**VALUES, HOME="/home/gem", MY_TOKEN="abc", TANDEM_SESSION="x")
    kept = portable(text, {"HOME": "/home/gem", "QUOTE": "another"}, lambda told: "TOKEN" in told)
    assert [each.name for each in declared(kept)] == sorted(VALUES)
    told = subprocess.run(["/bin/bash", "-c", f'{kept}\nprintf %s "$MARK"'], env={}, capture_output=True, text=True, check=True)
    assert told.stdout == VALUES["MARK"]


def test_what_is_no_statement_is_left_out() -> None:
    text = 'rm -rf /\ndeclare -x A="1"\ndeclare -x $(id)="2"\ndeclare -x B="1\nrm -rf /\ndeclare -x C="3\n'
    assert [each.name for each in declared(text)] == ["A", "B"]
    assert list(declared("")) == []
    assert [each.value for each in declared("declare -x NONE")] == [None]


def test_a_long_text_is_read_in_a_moment() -> None:
    assert len(list(declared('declare -x A="' + "x\\\\" * 200_000 + '"\n'))) == 1
