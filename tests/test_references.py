"""What pages name exists: links, paths, tests, modules, commands, variables, operations, decisions. Code is read alike, and warned of."""

import re
from pathlib import Path

from tests.references import Repository, Text, prose_of, text_of, wrong_in
from tests.tables import table_test

ROOT = Path(__file__).parent.parent
REPOSITORY = Repository(ROOT)

SOUND = {
    "a link": "[security](security.md)",
    "a link to a section": "[limits](security.md#limits-of-the-box)",
    "a link to elsewhere": "[there](https://example.org/nowhere.md)",
    "a link to a decision": "[0015](decisions/0015-one-lease-says-who-drives.md)",
    "a file": "'tests/test_references.py'",
    "a command with words": "'benchmarks/api/run 100'",
    "a file of the package": "'core/dispatch.py'",
    "a folder": "'sandbox_server/core/'",
    "a pattern": "'supervisord/components/<name>.conf'",
    "a test": "'tests/test_references.py::test_what_is_there_may_be_named'",
    "a module": "'sandbox_server.core'",
    "a name of a module": "'sandbox_server.core.dispatch.Dispatcher'",
    "a command": "'python -m sandbox_server boot'",
    "a setting": "'BOX_MAX_PROCESSES'",
    "a setting with a value": "'BOX=off'",
    "an operation": "'POST /v1/control/take'",
    "an operation on something": "'GET /v1/handoffs/{id}?wait='",
    "an operation with a body": "'POST /v1/control/release {\"note\": ...}'",
    "the beginning of operations": "'/v1/browser/page'",
    "a decision": "as decision 15 says",
    "a section of a page": 'docs/security.md, "The box"',
    "what is no reference": "'a/b', 'tests', 'x.py', 'NAME', 'GET /nowhere'",
    "a block of code": "```\n'tests/test_nothing.py'\n```",
    "an import of an example": "'''python\nfrom sandbox_server.core import operation, Model\n'''",
}
BROKEN = {
    "a link": "[security](securities.md)",
    "a link to a section": "[limits](security.md#limits-of-the-moon)",
    "a link to a section of this page": "[limits](#limits-of-the-moon)",
    "a link to another decision than it says": "[0014](decisions/0015-one-lease-says-who-drives.md)",
    "a picture": "![it](images/nothing.webp)",
    "a file": "'tests/test_nothing.py'",
    "a file with words": "'benchmarks/nothing/run 100'",
    "a file of the package": "'core/nothing.py'",
    "a folder": "'sandbox_server/nothing/'",
    "a pattern": "'supervisord/nothing/<name>.conf'",
    "a test": "'tests/test_references.py::test_nothing'",
    "a module": "'sandbox_server.nothing'",
    "a name of a module": "'sandbox_server.core.dispatch.Nothing'",
    "a command": "'python -m sandbox_server nothing'",
    "a setting": "'BOX_MAX_NOTHING'",
    "an operation": "'POST /v1/control/nothing'",
    "a verb of an operation": "'DELETE /v1/control/take'",
    "a path of the API": "'/v1/nothing'",
    "a decision": "as decision 999 says",
    "an import of an example": "'''python\nfrom sandbox_server.core import operation, Nothing\n'''",
    "a page in a sentence": "see docs/nothing.md for it",
    "a section of a page": 'docs/security.md, "The moon"',
}


def page(sample: str) -> Text:
    """A page below docs/ that says a sample, whose quotes stand for backticks: no sample is a reference of this file."""
    path = Path("docs/sample.md")
    return text_of(path, sample.replace("'", "`"))


def test_everything_that_a_page_names_exists() -> None:
    pages = [text for text in REPOSITORY.texts if text.is_page]
    wrong = [f"{page.path}: {reference}" for page in pages for reference in wrong_in(page, REPOSITORY)]
    assert not wrong, "\n".join(wrong)


@table_test(SOUND)
def test_what_is_there_may_be_named(sample: str) -> None:
    assert list(wrong_in(page(sample), REPOSITORY)) == []


@table_test(BROKEN)
def test_what_is_not_there_is_found(sample: str) -> None:
    assert list(wrong_in(page(sample), REPOSITORY))


def test_what_a_program_in_a_string_of_a_test_imports_exists() -> None:
    imported = re.compile(r"(?m)(?:^|[\"';]) *(?:from|import) (sandbox_server[.\w]*)(?: import ([\w, ]+))?")
    wrong = [
        f"{path.relative_to(ROOT)}: {module}{name}"
        for path in (ROOT / "tests").rglob("*.py")
        if path != Path(__file__)
        for module, names in imported.findall(path.read_text("utf-8"))
        for name in (["", *(f".{words.split()[0]}" for words in names.split(",") if words.strip())])
        if not REPOSITORY.has_module(module + name)
    ]
    assert not wrong, "\n".join(wrong)


def test_comments_of_code_are_read_and_its_strings_are_not() -> None:
    read = prose_of(Path("x.js"), "// see `one`\nconst two = `three`; // and `four`\n")
    assert "`one`" in read
    assert "`four`" in read
    assert "three" not in read


def test_the_index_leads_to_every_page_and_decision() -> None:
    index = (ROOT / "docs" / "README.md").read_text("utf-8")
    pages = [page.relative_to(ROOT / "docs") for page in (ROOT / "docs").rglob("*.md") if page.name != "README.md"]
    assert [str(page) for page in pages if f"({page}" not in index] == []


def test_decisions_are_numbered_one_by_one_and_dated_and_have_a_status() -> None:
    decisions = sorted((ROOT / "docs" / "decisions").glob("*.md"))
    assert [page.name[:4] for page in decisions] == [f"{number:04d}" for number in range(1, len(decisions) + 1)]
    stated = re.compile(r"# .+\n\n\*\*Date:\*\* \d{4}-\d\d-\d\d\. \*\*Status:\*\* (accepted|superseded)")
    assert [page.name for page in decisions if not stated.match(page.read_text("utf-8"))] == []
