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

from sandbox_server.drivers.documents import text_program
from sandbox_server.drivers.documents.text_program import Problem, bounds
from tests.documents import a_pdf


def convert(document: bytes, **options: Any) -> dict[str, Any]:
    """Run the program as it is run."""
    with tempfile.TemporaryFile() as file:
        file.write(document)
        file.seek(0)
        command = [sys.executable, "-I", text_program.__file__, json.dumps(options)]
        done = subprocess.run(command, stdin=file, capture_output=True, check=True)
    answer: dict[str, Any] = json.loads(done.stdout)
    return answer


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
    assert convert(document)["text"] == "## Page 1\n\nHello\n\n## Page 2\n\nWorld\n\n## Page 3\n\nEnd\n"
    part = convert(document, page_range=[2, -1])
    assert part["text"].startswith("## Page 2\n\nWorld")
    assert part["metadata"] == {"file_type": "pdf", "total_pages": 3, "title": None}


def test_a_pdf_with_a_password_is_refused_and_one_without_a_needed_one_is_not() -> None:
    assert convert(a_pdf("x", password="secret"))["problem"] == "The PDF is protected by a password."


def test_a_workbook_is_shown_by_sheet_with_values_and_formulas() -> None:
    answer = convert(a_book())
    assert answer["text"].startswith("## Sheet: First (3 rows, 2 columns)\n\n     1\tname\tnumber\n     2\ta\\tb\t1\n     3\tsum\t=B2+1\n")
    assert "  1000\t1000\nNOTE: 200 more rows are not shown" in answer["text"]
    assert [sheet["name"] for sheet in answer["metadata"]["sheets"]] == ["First", "Second", "Empty"]


def test_rows_of_one_sheet_are_shown_as_asked() -> None:
    text = convert(a_book(), sheet_name="Second", row_range=[1199, 1300])["text"]
    assert text == "## Sheet: Second (1200 rows, 1 columns)\n\n  1199\t1199\n  1200\t1200\n"
    assert "The sheets are: First, Second, Empty." in convert(a_book(), sheet_name="Third")["problem"]


def test_a_presentation_is_shown_by_slide_with_tables_and_notes() -> None:
    answer = convert(a_presentation(), slide_range=[2, 2])
    assert answer["text"] == "## Slide 2\n\nTitle 2\nPoint\nleft\tright\n\nNotes: Say this\n"
    assert answer["metadata"] == {"file_type": "pptx", "total_slides": 2}


@pytest.mark.parametrize("document", [b"", b"plain text", b"%PDF-1.7 broken", b"PK\x03\x04broken"])
def test_what_is_no_document_says_so(document: bytes) -> None:
    assert "cannot be read" in (problem := convert(document)["problem"]) or "neither" in problem


def test_another_kind_of_archive_is_no_document() -> None:
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as archive:
        archive.writestr("a.txt", "x")
    assert "neither an Excel workbook nor a PowerPoint" in convert(file.getvalue())["problem"]


@pytest.mark.parametrize(("given", "expected"), [(None, (1, 5)), ([2, 3], (2, 3)), ([2, -1], (2, 5)), ([5, 99], (5, 5))])
def test_a_range_counts_from_one_with_both_ends(given: list[int] | None, expected: tuple[int, int]) -> None:
    assert bounds("page_range", given, 5) == expected


@pytest.mark.parametrize("given", [[1], [0, 1], [6, 6], [3, 2], [1, 2, 3]])
def test_a_range_that_makes_no_sense_is_refused(given: list[int]) -> None:
    with pytest.raises(Problem, match="Invalid `page_range` parameter"):
        bounds("page_range", given, 5)
