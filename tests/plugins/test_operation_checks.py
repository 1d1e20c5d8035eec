from pathlib import Path

import pytest

from sandbox_server.core.operation import Operation, operation, operations
from sandbox_server.plugins.operation_checks import check

FEATURE = '''
from sandbox_server.core import Body, operation


class Mine:
    tag = "{tag}"

    @operation("{route}", scope="view", tool={tool!r})
    async def {name}(self{more}) -> None:
        """Do."""
'''


class BuiltIn:
    tag = "taken"

    @operation("GET /v1/taken", scope="view", tool="taken", aliases=("older",))
    async def take(self) -> None:
        """Take."""


KNOWN: list[Operation] = list(operations(BuiltIn()))


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    tmp_path.chmod(0o755)
    return tmp_path


def write(
    folder: Path, name: str = "mine", route: str = "GET /v1/mine", tag: str = "mine", tool: str | None = "mine", more: str = ""
) -> None:
    file = folder / f"{name}.py"
    file.write_text(FEATURE.format(tag=tag, route=route, name=name, tool=tool, more=more))
    file.chmod(0o644)


def test_an_operation_that_goes_with_the_others_is_named(folder: Path) -> None:
    write(folder)

    found = check(str(folder), KNOWN)

    assert (found.added, found.problems) == (["GET /v1/mine"], [])


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        ({"route": "GET /mine"}, "must begin with /v1/"),
        ({"route": "GET /v1/taken"}, "GET /v1/taken is taken.take already"),
        ({"tag": "taken", "name": "take"}, "has an operation of this name already"),
        ({"tool": "taken"}, "the tool taken is taken.take already"),
        ({"tool": "older"}, "the tool older is taken.take already"),
        ({"tool": "browser_mine"}, "would count as one of the sandbox's own"),
        ({"route": "POST /v1/mine", "more": ", body: Body"}, "no agent could call the tool mine"),
    ],
)
def test_what_would_fail_later_fails_here(folder: Path, change: dict[str, str], problem: str) -> None:
    write(folder, **change)

    assert any(problem in each for each in check(str(folder), KNOWN).problems)


def test_two_of_ones_own_are_held_against_each_other(folder: Path) -> None:
    write(folder, "one")
    write(folder, "two")

    assert any("the tool mine is mine.one already" in each for each in check(str(folder), []).problems)


@pytest.mark.parametrize("source", ["import nothing_of_this_name", "def", "raise RuntimeError('no')"])
def test_a_file_that_cannot_be_loaded_is_named(folder: Path, source: str) -> None:
    (folder / "broken.py").write_text(source)
    (folder / "broken.py").chmod(0o644)

    [problem] = check(str(folder), []).problems

    assert str(folder) in problem


def test_a_file_that_others_may_write_is_refused(folder: Path) -> None:
    write(folder)
    (folder / "mine.py").chmod(0o666)

    assert "writable by root only" in check(str(folder), []).problems[0]


def test_an_image_without_any_is_well() -> None:
    assert check("/nowhere", KNOWN).problems == []
