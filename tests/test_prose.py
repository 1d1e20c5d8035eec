"""What does not read easily is found, with its line."""

from pathlib import Path

from tests.prose import long_lines, long_paragraphs, pages, wrong_at_the_beginning, wrong_in_page

SIX = "So it is. " * 6


def test_a_line_that_could_be_folded_is_too_long() -> None:
    assert list(long_lines("short\n" + "word " * 30)) == [(2, "a line of 150 characters; 120 are the most")]
    assert not list(long_lines("| " + "word " * 30))


def test_a_paragraph_has_five_sentences() -> None:
    told = "a paragraph of 6 sentences; 5 are the most"
    assert list(long_paragraphs(SIX)) == [(1, told)]
    assert list(long_paragraphs(f"- One.\n- {SIX}\n\nSo.\n\n{SIX}")) == [(2, told), (6, told)]
    assert not list(long_paragraphs("So it is. " * 5 + "\n\nSo it is."))
    assert not list(long_paragraphs("**A label.** " + "So it is. " * 5))
    assert not list(long_paragraphs("It is so (see there. And there. And there. And there. And there.)."))


def test_a_page_has_one_title_and_begins_with_whom_it_is_for() -> None:
    assert not list(wrong_at_the_beginning("# Title\n\nFor whoever reads.\n\nMore.\n", decision=False))
    assert not list(wrong_at_the_beginning("# Title\n\n**Date:** today.\n", decision=True))
    assert list(wrong_at_the_beginning("# Title", decision=False)) == [(3, "a page begins with whom it is for")]
    assert list(wrong_at_the_beginning("# One\n\n# Two\n", decision=True)) == [(1, "a page has one title; this one has 2")]
    assert list(wrong_at_the_beginning("No title\n", decision=True)) == [(1, "a page has one title; this one has 0")]


def test_a_block_of_code_counts_its_lines_and_no_more(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text(f"# Title\n\nFor you.\n\n```sh\n# {'x' * 130}\n\n{SIX}\n```\n\n{SIX}\n")
    assert list(wrong_in_page(page)) == [(11, "a paragraph of 6 sentences; 5 are the most")]


def test_the_pages_are_those_beside_the_code_and_below_docs(tmp_path: Path) -> None:
    for name in ("README.md", "docs/one.md", "docs/decisions/0001-two.md", "examples/README.md", "tests/notes.md"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).touch()
    found = [str(page.relative_to(tmp_path)) for page in pages(tmp_path)]
    assert found == ["README.md", "docs/decisions/0001-two.md", "docs/one.md", "examples/README.md"]
