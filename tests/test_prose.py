"""Pages read easily: lines of 120 characters, paragraphs of five sentences, and a beginning that says whom a page is for."""

import re
from pathlib import Path

from tests.tables import table_test

ROOT = Path(__file__).parent.parent
MAX_LINE = 120
MAX_SENTENCES = 5
UNFOLDED = ("|", "!", "#")
"""How lines begin that cannot be folded: rows of tables, pictures, headings."""
_FENCE = re.compile(r"(?ms)^ *```.*?^ *```$")
_ASIDE = re.compile(r"`[^`]*`|\([^()]*\)")
_PARAGRAPH = re.compile(r"\n\s*\n|\n(?=\s*(?:[-*]|\d+\.) )")
_LABEL = re.compile(r"^(?:[-*] |\d+\. )?\*\*[^*]*\*\*")
_END = re.compile(r"[.!?](?:\s|$)")

PAGES = sorted(page for place in (".", "docs", "benchmarks", "custom_tools", "deploy", "examples") for page in (ROOT / place).glob("*.md"))
PAGES += sorted(page for place in ("docs", "benchmarks", "deploy") for page in (ROOT / place).glob("*/*.md"))


def prose(page: Path) -> str:
    """A page without its blocks of code."""
    return _FENCE.sub("", page.read_text("utf-8"))


def long_lines(text: str) -> list[str]:
    """The lines that could be folded and are too long."""
    return [line for line in text.splitlines() if len(line) > MAX_LINE and not line.startswith(UNFOLDED)]


def long_paragraphs(text: str) -> list[str]:
    """The paragraphs, and items of lists, with too many sentences; what is in brackets or code counts as a word, a label as none."""
    paragraphs = [paragraph.strip() for paragraph in _PARAGRAPH.split(text)]
    return [each for each in paragraphs if not each.startswith(UNFOLDED) and sentences(each) > MAX_SENTENCES]


def sentences(paragraph: str) -> int:
    """How many sentences a paragraph has."""
    return len(_END.findall(_ASIDE.sub("x", _LABEL.sub("", paragraph))))


@table_test(PAGES)
def test_no_line_and_no_paragraph_is_too_long(page: Path) -> None:
    text = prose(page)
    assert long_lines(text) == []
    assert long_paragraphs(text) == []


@table_test(PAGES)
def test_a_page_has_one_title_and_begins_with_whom_it_is_for(page: Path) -> None:
    text = prose(page)
    assert len(re.findall(r"(?m)^# ", text)) == 1
    beginning = "" if page.parent.name == "decisions" else text.split("\n\n", 2)[1]
    assert page.parent.name == "decisions" or re.search(r"\b[Ff]or [a-z]", beginning)


def test_what_is_too_long_is_found() -> None:
    assert long_lines("word " * 30)
    assert not long_lines("| " + "word " * 30)
    assert long_paragraphs("So it is. " * 6)
    assert long_paragraphs("- So it is. " + "So it is. " * 5)
    assert not long_paragraphs("So it is. " * 5 + "\n\nSo it is.")
    assert not long_paragraphs("It is so (see there. And there. And there. And there. And there.).")
