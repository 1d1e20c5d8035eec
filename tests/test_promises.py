"""Every promise of docs/security.md names the tests that hold it, and those tests exist.

A section promises unless its title begins with one of `TELLS`. In one that promises, everything is a row of a table whose last column is
`held by`, but for paragraphs that end with a colon and lead to a table.
"""

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path

import pytest

from tests.sources import nodes_of

ROOT = Path(__file__).parent.parent
PAGE = ROOT / "docs" / "security.md"
FINDINGS = ROOT / "docs" / "security-findings.md"
TELLS = ("How ", "Limits", "Engines")
"""How the titles of sections begin that explain, or say what is not prevented."""
HELD_BY = "held by"
REFERENCE = re.compile(r"`(tests/[a-z0-9_/]+\.py)::(test_[a-z0-9_]+)`")
MUST_PROMISE = (
    "Who reads what the agent wrote",
    "What stops an agent while a person drives",
    "The box",
    "Without a box",
    "Where hooks run",
)


@dataclass
class Section:
    """A section of a page: what stands under its title, line by line."""

    title: str
    lines: list[str] = field(default_factory=list)

    @property
    def promises(self) -> bool:
        """Whether what it says is promised."""
        return not self.title.startswith(TELLS)

    def paragraphs(self) -> list[list[str]]:
        """Its lines, divided where one is empty."""
        found: list[list[str]] = [[]]
        for line in self.lines:
            if line.strip():
                found[-1].append(line)
            elif found[-1]:
                found.append([])
        return [paragraph for paragraph in found if paragraph]


def sections(text: str) -> list[Section]:
    """The sections of a page, without what comes before the first."""
    found: list[Section] = []
    for line in text.splitlines():
        if line.startswith(("## ", "### ")):
            found.append(Section(line.lstrip("# ")))
        elif found:
            found[-1].lines.append(line)
    return found


def cells(row: str) -> list[str]:
    """The cells of a row of a table."""
    return [cell.strip() for cell in row.strip().strip("|").split("|")]


def wrong_in(section: Section) -> Iterator[str]:
    """What keeps a section that promises from being one."""
    for paragraph in section.paragraphs():
        first, *rest = paragraph
        if not first.startswith("|"):
            if not paragraph[-1].endswith(":"):
                yield f"{section.title}: {first!r} is in no row of a table"
        elif cells(first)[-1] != HELD_BY:
            yield f"{section.title}: the last column of {first!r} is not {HELD_BY!r}"
        else:
            yield from (wrong for row in rest[1:] for wrong in wrong_with(row, len(cells(first))))


def wrong_with(row: str, columns: int) -> Iterator[str]:
    """What a row of such a table lacks."""
    found = cells(row)
    if len(found) != columns or not all(found):
        yield f"{row!r} has not {columns} cells"
        return
    named = REFERENCE.findall(found[-1])
    if not named or REFERENCE.sub("", found[-1]).strip(" ,"):
        yield f"{found[0]!r} is held by {found[-1]!r}, which names no test"
    for file, name in named:
        if name not in names_in(file):
            yield f"{found[0]!r}: there is no {file}::{name}"


@cache
def names_in(file: str) -> frozenset[str]:
    """The names of the tests of a file; none if there is no such file."""
    path = ROOT / file
    if not path.is_file():
        return frozenset()
    return frozenset(node.name for node in nodes_of(path) if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef))


PROMISING = [section for section in sections(PAGE.read_text("utf-8")) if section.promises]


def test_every_promise_names_a_test_that_exists() -> None:
    wrong = [found for section in PROMISING for found in wrong_in(section)]
    assert not wrong, "\n".join(wrong)


def test_the_page_promises_what_it_is_for() -> None:
    assert {section.title for section in PROMISING} >= set(MUST_PROMISE)
    assert all(any(line.startswith("|") for line in section.lines) for section in PROMISING)


@pytest.mark.parametrize("page", [PAGE, FINDINGS], ids=lambda page: page.name)
def test_no_test_is_named_on_a_page_that_does_not_exist(page: Path) -> None:
    assert [(file, name) for file, name in REFERENCE.findall(page.read_text("utf-8")) if name not in names_in(file)] == []


def test_every_finding_names_the_test_that_holds_it() -> None:
    rows = [
        line for line in FINDINGS.read_text("utf-8").splitlines() if line.startswith("|") and "---" not in line and "held by" not in line
    ]
    assert len(rows) > 25
    assert [row for row in rows if not REFERENCE.search(row)] == []


BROKEN = {
    "a sentence of its own": "## Kept\n\nNothing ever leaks.\n",
    "a list": "## Kept\n\n- Nothing ever leaks.\n",
    "a table without tests": "## Kept\n\n| promise | note |\n|---|---|\n| it holds | well |\n",
    "an empty cell": "## Kept\n\n| promise | held by |\n|---|---|\n| it holds | |\n",
    "words in place of a test": "## Kept\n\n| promise | held by |\n|---|---|\n| it holds | the tests |\n",
    "a test that is not there": "## Kept\n\n| promise | held by |\n|---|---|\n| it holds | `tests/test_promises.py::test_none` |\n",
    "a file that is not there": "## Kept\n\n| promise | held by |\n|---|---|\n| it holds | `tests/test_nothing.py::test_none` |\n",
}


@pytest.mark.parametrize("page", BROKEN.values(), ids=BROKEN)
def test_a_promise_that_nothing_holds_is_found(page: str) -> None:
    assert [wrong for section in sections(page) for wrong in wrong_in(section)]
    limits = page.replace("## Kept", "## Limits of it")
    assert not [section for section in sections(limits) if section.promises]
