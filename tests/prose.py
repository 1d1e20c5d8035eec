"""How pages read: lines of 120 characters, paragraphs of five sentences, and a beginning that says whom a page is for."""

import re
from collections.abc import Iterator
from pathlib import Path

MAX_LINE = 120
MAX_SENTENCES = 5
UNFOLDED = ("|", "!", "#")
"""How lines begin that cannot be folded: rows of tables, pictures, headings."""
_FENCE = re.compile(r"(?ms)^ *```.*?^ *```$")
_ASIDE = re.compile(r"`[^`]*`|\([^()]*\)")
_PARAGRAPH = re.compile(r"\n\s*\n|\n(?=\s*(?:[-*]|\d+\.) )")
_LABEL = re.compile(r"^(?:[-*] |\d+\. )?\*\*[^*]*\*\*")
_END = re.compile(r"[.!?](?:\s|$)")


def pages(root: Path) -> list[Path]:
    """The pages of the repository."""
    beside = (page for place in (".", "docs", "benchmarks", "custom_tools", "deploy", "examples") for page in (root / place).glob("*.md"))
    return sorted([*beside, *(page for place in ("docs", "benchmarks", "deploy") for page in (root / place).glob("*/*.md"))])


def wrong_in_page(page: Path) -> Iterator[tuple[int, str]]:
    """What is wrong with how a page reads, each with its line."""
    text = _FENCE.sub(lambda block: "\n" * block[0].count("\n"), page.read_text("utf-8"))
    yield from wrong_at_the_beginning(text, decision=page.parent.name == "decisions")
    yield from long_lines(text)
    yield from long_paragraphs(text)


def wrong_at_the_beginning(text: str, *, decision: bool) -> Iterator[tuple[int, str]]:
    """Whether a page has one title and says then for whom it is; the page of a decision need not."""
    titles = len(re.findall(r"(?m)^# ", text))
    if titles != 1:
        yield 1, f"a page has one title; this one has {titles}"
    beginning = f"{text}\n\n".split("\n\n", 2)[1]
    if not decision and not re.search(r"\b[Ff]or [a-z]", beginning):
        yield 3, "a page begins with whom it is for"


def long_lines(text: str) -> Iterator[tuple[int, str]]:
    """The lines that could be folded and are too long."""
    for number, line in enumerate(text.splitlines(), 1):
        if len(line) > MAX_LINE and not line.startswith(UNFOLDED):
            yield number, f"a line of {len(line)} characters; {MAX_LINE} are the most"


def long_paragraphs(text: str) -> Iterator[tuple[int, str]]:
    """The paragraphs, and items of lists, with too many sentences."""
    for number, paragraph in _paragraphs(text):
        if not paragraph.startswith(UNFOLDED) and (count := sentences(paragraph)) > MAX_SENTENCES:
            yield number, f"a paragraph of {count} sentences; {MAX_SENTENCES} are the most"


def _paragraphs(text: str) -> Iterator[tuple[int, str]]:
    begin = 0
    for end, following in [*(between.span() for between in _PARAGRAPH.finditer(text)), (len(text), len(text))]:
        paragraph = text[begin:end]
        yield text.count("\n", 0, end - len(paragraph.lstrip())) + 1, paragraph.strip()
        begin = following


def sentences(paragraph: str) -> int:
    """How many sentences a paragraph has; what is in brackets or code counts as a word, a label as none."""
    return len(_END.findall(_ASIDE.sub("x", _LABEL.sub("", paragraph))))
