import json
import subprocess
import sys
import tempfile
from typing import Any

import pytest

from sandbox_server.drivers.documents import markdown_program
from tests.documents import a_pdf, a_table, a_word_document, an_archive, some_slides

HTML = b"<html><title>Page</title><body><nav><a href=/x>link</a></nav><h1>Head</h1><p>A <b>bold</b> word.</p><script>no()</script>"
LATIN = "Grüße aus Österreich, schön wär's: Äpfel, Übermut, Öl, Fußball, Maß, Straße".encode("latin-1")


def convert(document: bytes, **known: str) -> dict[str, Any]:
    """Run the program as it is run."""
    with tempfile.TemporaryFile() as file:
        file.write(document)
        file.seek(0)
        command = [sys.executable, "-I", markdown_program.__file__, json.dumps(known)]
        done = subprocess.run(command, stdin=file, capture_output=True, check=True)
    answer: dict[str, Any] = json.loads(done.stdout)
    return answer


@pytest.mark.parametrize("known", [{"media_type": "text/html"}, {"name": "page.html"}, {"media_type": "application/xhtml+xml"}])
def test_a_page_keeps_its_headings_links_and_stress(known: dict[str, str]) -> None:
    answer = convert(HTML, **known)

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
    assert convert(document, media_type=media_type)["text"].strip() == text


def test_the_bytes_are_believed_before_the_server() -> None:
    assert convert(a_pdf("First"), media_type="text/html", name="x.html")["text"].strip() == "First"


def test_a_table_of_text_becomes_one_of_markdown() -> None:
    assert convert(b"a,b\n1,2\n", media_type="text/csv")["text"].splitlines() == ["| a | b |", "| --- | --- |", "| 1 | 2 |"]


def test_what_is_in_an_archive_is_converted() -> None:
    answer = convert(an_archive({"a.html": "<h1>One</h1>", "b.txt": "two"}))

    assert "# One" in answer["text"]
    assert "two" in answer["text"]


@pytest.mark.parametrize(
    ("document", "charset", "text"),
    [("Grüße".encode(), None, "Grüße"), (LATIN, "latin-1", LATIN.decode("latin-1")), ("Grüße".encode("utf-16"), None, "Grüße")],
)
def test_letters_survive(document: bytes, charset: str | None, text: str) -> None:
    known = {"charset": charset} if charset else {}

    assert convert(document, name="x.txt", **known)["text"].lstrip("\ufeff") == text


def test_a_charset_that_nobody_names_is_guessed() -> None:
    assert "Grüße" in convert(LATIN * 20, name="x.txt")["text"]


@pytest.mark.parametrize(
    ("document", "known", "problem"),
    [
        (b"\x7fELF\0\0\0", {}, "neither text nor a document"),
        (b"PK\x03\x04 and no more", {}, "archive is broken"),
        (a_pdf("Secret", password="x"), {}, "protected by a password"),
        (b"%PDF-1.4 and no more", {}, "cannot be converted: "),
        (b"\0\1\2", {"media_type": "image/png"}, "cannot be converted"),
    ],
)
def test_what_cannot_be_converted_says_why(document: bytes, known: dict[str, str], problem: str) -> None:
    answer = convert(document, **known)

    assert problem in answer["problem"]
    assert "Traceback" not in answer["problem"]


def test_a_sheet_is_cut_at_a_number_of_rows() -> None:
    import io

    import openpyxl

    book = openpyxl.Workbook()
    for number in range(markdown_program.MAX_ROWS + 5):
        book.worksheets[0].append([number])
    file = io.BytesIO()
    book.save(file)

    text = convert(file.getvalue())["text"]

    assert f"| {markdown_program.MAX_ROWS - 1} |" in text
    assert f"| {markdown_program.MAX_ROWS + 1} |" not in text
    assert text.rstrip().endswith("(There are more than 10000 rows.)")
