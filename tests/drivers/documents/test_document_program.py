"""The program that reads documents, run as it is run: as text by pages, rows and slides, and as Markdown."""

import io
import json
import subprocess
import sys
import tempfile
import zipfile
from typing import Any

import openpyxl
import pptx
import pytest

from sandbox_server.drivers.documents import document_program
from sandbox_server.drivers.documents.document_program import Problem, bounds
from tests.documents import a_pdf, a_table, a_word_document, an_archive, some_slides

HTML = b"<html><title>Page</title><body><nav><a href=/x>link</a></nav><h1>Head</h1><p>A <b>bold</b> word.</p><script>no()</script>"
LATIN = "Grüße aus Österreich, schön wär's: Äpfel, Übermut, Öl, Fußball, Maß, Straße".encode("latin-1")


def run(document: bytes, options: dict[str, Any]) -> dict[str, Any]:
    """Run the program as it is run."""
    with tempfile.TemporaryFile() as file:
        file.write(document)
        file.seek(0)
        command = [sys.executable, "-I", document_program.__file__, json.dumps(options)]
        done = subprocess.run(command, stdin=file, capture_output=True, check=True)
    answer: dict[str, Any] = json.loads(done.stdout)
    return answer


def as_text(document: bytes, **options: Any) -> dict[str, Any]:
    """What the program shows of a document."""
    return run(document, {"form": "text", **options})


def as_markdown(document: bytes, **known: str) -> dict[str, Any]:
    """What the program makes of a document of which this is known."""
    return run(document, {"form": "markdown", **known})


def a_book() -> bytes:
    book = openpyxl.Workbook()
    first = book.worksheets[0]
    first.title = "First"
    for row in (["name", "number"], ["a\tb", 1], ["sum", "=B2+1"]):
        first.append(row)
    second = book.create_sheet("Second")
    for number in range(1, 1201):
        second.append([number])
    book.create_sheet("Empty")
    file = io.BytesIO()
    book.save(file)
    return file.getvalue()


def a_presentation() -> bytes:
    show = pptx.Presentation()
    for number in (1, 2):
        slide = show.slides.add_slide(show.slide_layouts[1])
        slide.shapes.title.text = f"Title {number}"
        slide.placeholders[1].text = "Point"
    slide.notes_slide.notes_text_frame.text = "Say this"
    table = slide.shapes.add_table(1, 2, 0, 0, 10, 10).table
    table.cell(0, 0).text, table.cell(0, 1).text = "left", "right"
    file = io.BytesIO()
    show.save(file)
    return file.getvalue()


def test_a_pdf_is_shown_by_page() -> None:
    document = a_pdf("Hello", "World", "End")
    assert as_text(document)["text"] == "## Page 1\n\nHello\n\n## Page 2\n\nWorld\n\n## Page 3\n\nEnd\n"
    part = as_text(document, page_range=[2, -1])
    assert part["text"].startswith("## Page 2\n\nWorld")
    assert part["metadata"] == {"file_type": "pdf", "total_pages": 3, "title": None}


def test_a_pdf_with_a_password_is_refused_and_one_without_a_needed_one_is_not() -> None:
    assert as_text(a_pdf("x", password="secret"))["problem"] == "The PDF is protected by a password."


def test_a_workbook_is_shown_by_sheet_with_values_and_formulas() -> None:
    answer = as_text(a_book())
    assert answer["text"].startswith("## Sheet: First (3 rows, 2 columns)\n\n     1\tname\tnumber\n     2\ta\\tb\t1\n     3\tsum\t=B2+1\n")
    assert "  1000\t1000\nNOTE: 200 more rows are not shown" in answer["text"]
    assert [sheet["name"] for sheet in answer["metadata"]["sheets"]] == ["First", "Second", "Empty"]


def test_rows_of_one_sheet_are_shown_as_asked() -> None:
    text = as_text(a_book(), sheet_name="Second", row_range=[1199, 1300])["text"]
    assert text == "## Sheet: Second (1200 rows, 1 columns)\n\n  1199\t1199\n  1200\t1200\n"
    assert "The sheets are: First, Second, Empty." in as_text(a_book(), sheet_name="Third")["problem"]


def test_a_presentation_is_shown_by_slide_with_tables_and_notes() -> None:
    answer = as_text(a_presentation(), slide_range=[2, 2])
    assert answer["text"] == "## Slide 2\n\nTitle 2\nPoint\nleft\tright\n\nNotes: Say this\n"
    assert answer["metadata"] == {"file_type": "pptx", "total_slides": 2}


@pytest.mark.parametrize("document", [b"", b"plain text", b"%PDF-1.7 broken", b"PK\x03\x04broken"])
def test_what_is_no_document_says_so(document: bytes) -> None:
    assert "cannot be read" in (problem := as_text(document)["problem"]) or "neither" in problem


def test_another_kind_of_archive_is_no_document() -> None:
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as archive:
        archive.writestr("a.txt", "x")
    assert "neither an Excel workbook nor a PowerPoint" in as_text(file.getvalue())["problem"]


@pytest.mark.parametrize(("given", "expected"), [(None, (1, 5)), ([2, 3], (2, 3)), ([2, -1], (2, 5)), ([5, 99], (5, 5))])
def test_a_range_counts_from_one_with_both_ends(given: list[int] | None, expected: tuple[int, int]) -> None:
    assert bounds("page_range", given, 5) == expected


@pytest.mark.parametrize("given", [[1], [0, 1], [6, 6], [3, 2], [1, 2, 3]])
def test_a_range_that_makes_no_sense_is_refused(given: list[int]) -> None:
    with pytest.raises(Problem, match="Invalid `page_range` parameter"):
        bounds("page_range", given, 5)


@pytest.mark.parametrize("known", [{"media_type": "text/html"}, {"name": "page.html"}, {"media_type": "application/xhtml+xml"}])
def test_a_page_keeps_its_headings_links_and_stress(known: dict[str, str]) -> None:
    answer = as_markdown(HTML, **known)

    assert answer["title"] == "Page"
    assert answer["text"].split() == ["[link](/x)", "#", "Head", "A", "**bold**", "word."]


@pytest.mark.parametrize(
    ("document", "text"),
    [
        (a_pdf("First", "Second"), "First\n\nSecond"),
        (a_word_document(), "# Report\n\n**bold** and plain"),
        (a_table(), "## Prices\n\n| name | price |\n| --- | --- |\n| a\\|b | 1 |\n| two<br>lines |  |"),
        (some_slides(), "<!-- Slide number: 1 -->\n# Title\nPoint"),
        (b"<!doctype html><p>text</p>", "text"),
        (b"just words\n", "just words"),
    ],
    ids=["pdf", "docx", "xlsx", "pptx", "html", "text"],
)
@pytest.mark.parametrize("media_type", ["application/octet-stream", ""])
def test_what_nobody_names_is_known_by_its_bytes(document: bytes, text: str, media_type: str) -> None:
    assert as_markdown(document, media_type=media_type)["text"].strip() == text


def test_the_bytes_are_believed_before_the_server() -> None:
    assert as_markdown(a_pdf("First"), media_type="text/html", name="x.html")["text"].strip() == "First"


def test_a_table_of_text_becomes_one_of_markdown() -> None:
    assert as_markdown(b"a,b\n1,2\n", media_type="text/csv")["text"].splitlines() == ["| a | b |", "| --- | --- |", "| 1 | 2 |"]


def test_what_is_in_an_archive_is_converted() -> None:
    answer = as_markdown(an_archive({"a.html": "<h1>One</h1>", "b.txt": "two"}))

    assert "# One" in answer["text"]
    assert "two" in answer["text"]


@pytest.mark.parametrize(
    ("document", "charset", "text"),
    [("Grüße".encode(), None, "Grüße"), (LATIN, "latin-1", LATIN.decode("latin-1")), ("Grüße".encode("utf-16"), None, "Grüße")],
)
def test_letters_survive(document: bytes, charset: str | None, text: str) -> None:
    known = {"charset": charset} if charset else {}

    assert as_markdown(document, name="x.txt", **known)["text"].lstrip("\ufeff") == text


def test_a_charset_that_nobody_names_is_guessed() -> None:
    assert "Grüße" in as_markdown(LATIN * 20, name="x.txt")["text"]


@pytest.mark.parametrize(
    ("document", "known", "problem"),
    [
        (b"\x7fELF\0\0\0", {}, "neither text nor a supported document"),
        (b"PK\x03\x04 and no more", {}, "archive is broken"),
        (a_pdf("Secret", password="x"), {}, "protected by a password"),
        (b"%PDF-1.4 and no more", {}, "cannot be converted: "),
        (b"\0\1\2", {"media_type": "image/png"}, "cannot be converted"),
    ],
)
def test_what_cannot_be_converted_says_why(document: bytes, known: dict[str, str], problem: str) -> None:
    answer = as_markdown(document, **known)

    assert problem in answer["problem"]
    assert "Traceback" not in answer["problem"]


def test_a_sheet_is_cut_at_a_number_of_rows() -> None:
    book = openpyxl.Workbook()
    for number in range(document_program.MAX_TABLE_ROWS + 5):
        book.worksheets[0].append([number])
    file = io.BytesIO()
    book.save(file)

    text = as_markdown(file.getvalue())["text"]

    assert f"| {document_program.MAX_TABLE_ROWS - 1} |" in text
    assert f"| {document_program.MAX_TABLE_ROWS + 1} |" not in text
    assert text.rstrip().endswith("(There are more than 10000 rows.)")
