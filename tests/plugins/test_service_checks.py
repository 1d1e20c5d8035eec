from pathlib import Path

import pytest

from sandbox_server.plugins.service_checks import check

OWN = str(Path(__file__).parent.parent.parent / "supervisord" / "components")
GOOD = "; a comment\n[program:mine]\ncommand = /bin/sh -c 'exec sleep 1' ; another\nuser = root\ndirectory = /\n"


def looked_at(folder: Path, **files: str) -> tuple[list[str], list[str]]:
    for name, text in files.items():
        (folder / f"{name}.conf").write_text(text)
    found = check([str(folder), "/nowhere"], OWN)
    return found.added, found.problems


def test_a_service_that_can_run_is_named(tmp_path: Path) -> None:
    assert looked_at(tmp_path, mine=GOOD) == (["mine"], [])


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("[program:mine]\ncommand = /no/such/program --x\n", "there is no program /no/such/program"),
        ("[program:mine]\nautostart = true\n", "it has no command"),
        ("[program:mine]\ncommand = sh 'x\n", "its command cannot be read"),
        ("[program:mine]\ncommand = /bin/sh\nuser = nobody-of-this-name\n", "there is no user 'nobody-of-this-name'"),
        ("[program:mine]\ncommand = /bin/sh\ndirectory = /no/such/place\n", "there is no directory /no/such/place"),
        ("[program:api]\ncommand = /bin/sh\n", "there is a program of this name already"),
        ("[supervisord]\nlogfile = /tmp/x\n", "is not for an added service"),
        ("command = /bin/sh\n", "no section headers"),
        ("[program:mine]\ncommand = /bin/sh\ncommand = /bin/true\n", "already exists"),
    ],
)
def test_a_service_that_cannot_start_is_reported_with_its_file(tmp_path: Path, text: str, problem: str) -> None:
    _, [found] = looked_at(tmp_path, mine=text)

    assert problem in found
    assert "mine.conf" in found


def test_two_of_one_name_are_one_too_many(tmp_path: Path) -> None:
    _, problems = looked_at(tmp_path, one=GOOD, two=GOOD)

    assert len(problems) == 1


def test_a_path_that_the_supervisor_fills_in_is_let_be(tmp_path: Path) -> None:
    text = "[program:mine]\ncommand = %(ENV_HOME)s/run\ndirectory = %(here)s\n[group:ours]\nprograms = mine\n"

    assert looked_at(tmp_path, mine=text) == (["mine", "ours"], [])
