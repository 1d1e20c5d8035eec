"""A program that turns a document into text: PDF by page, Excel by sheet, PowerPoint by slide.

It reads the document from standard input and one JSON object of options from its argument, and writes one JSON object: `{"text",
"metadata"}`, or `{"problem"}` for the caller. It runs as the agent with limits on time and memory, because the libraries read what
anybody may have written. It is run by its path, isolated, so it imports nothing of ours.
"""

import io
import json
import os
import sys
import zipfile
from collections.abc import Callable, Iterator
from typing import Any

MAX_ROWS = 1000
"""Rows of a sheet that are shown when no range is asked for."""
MAX_CELL = 1000
"""Characters of a cell that are shown."""

type Options = dict[str, Any]
type Shown = tuple[str, dict[str, Any]]


class Problem(Exception):
    """Something that the caller can put right."""


def main() -> None:
    """Read, convert, write."""
    options = json.loads(sys.argv[1])
    try:
        with os.fdopen(os.dup(0), "rb") as file:
            text, metadata = _converter(file)(file, options)
        answer: dict[str, Any] = {"text": text, "metadata": metadata}
    except Problem as problem:
        answer = {"problem": str(problem)}
    except MemoryError:
        answer = {"problem": "The document is too large to be shown."}
    except Exception as error:  # noqa: BLE001 - the top of a program: a parser may raise anything about a hostile file
        answer = {"problem": f"The document cannot be read: {type(error).__name__}: {error}"}
    sys.stdout.buffer.write(json.dumps(answer).encode())


def _converter(file: io.BufferedReader) -> Callable[[io.BufferedReader, Options], Shown]:
    if b"%PDF-" in file.peek(1024)[:1024]:
        return pdf
    try:
        names = zipfile.ZipFile(file).namelist()
    except zipfile.BadZipFile:
        raise Problem("The file is neither a PDF, an Excel workbook nor a PowerPoint presentation.") from None
    file.seek(0)
    if "xl/workbook.xml" in names:
        return excel
    if "ppt/presentation.xml" in names:
        return powerpoint
    raise Problem("The file is a zip archive, but neither an Excel workbook nor a PowerPoint presentation.")


def pdf(file: io.BufferedReader, options: Options) -> Shown:
    """Give the text of pages."""
    from pypdf import PdfReader

    reader = PdfReader(file)
    if reader.is_encrypted and not reader.decrypt(""):
        raise Problem("The PDF is protected by a password.")
    total = len(reader.pages)
    first, last = bounds("page_range", options.get("page_range"), total)
    parts = [f"## Page {number}\n\n{reader.pages[number - 1].extract_text().strip()}\n" for number in range(first, last + 1)]
    title = reader.metadata.title if reader.metadata else None
    return "\n".join(parts), {"file_type": "pdf", "total_pages": total, "title": title}


def excel(file: io.BufferedReader, options: Options) -> Shown:
    """Give the rows of sheets: values, and formulas that were never computed."""
    import openpyxl

    values = openpyxl.load_workbook(file, read_only=True, data_only=True)
    file.seek(0)
    formulas = openpyxl.load_workbook(file, read_only=True)
    wanted = options.get("sheet_name")
    if wanted is not None and wanted not in values.sheetnames:
        raise Problem(f"Invalid `sheet_name` parameter: {wanted}. The sheets are: {', '.join(values.sheetnames)}.")
    parts, sheets = [], []
    for name in values.sheetnames:
        sheet = values[name]
        rows, columns = sheet.max_row or 0, sheet.max_column or 0
        sheets.append({"name": name, "rows": rows, "columns": columns})
        if wanted in (None, name):
            head = f"## Sheet: {name} ({rows} rows, {columns} columns)"
            parts.append("\n".join([head, "", *_rows(sheet, formulas[name], rows, options.get("row_range")), ""]))
    return "\n".join(parts), {"file_type": "excel", "total_sheets": len(sheets), "sheets": sheets}


def _rows(sheet: Any, formulas: Any, total: int, row_range: list[int] | None) -> Iterator[str]:
    if not total:
        return
    first, last = bounds("row_range", row_range, total)
    if not row_range:
        last = min(last, MAX_ROWS)
    both = zip(
        sheet.iter_rows(min_row=first, max_row=last, values_only=True),
        formulas.iter_rows(min_row=first, max_row=last, values_only=True),
        strict=False,
    )
    for number, (row, written) in enumerate(both, first):
        cells = (value if value is not None else formula for value, formula in zip(row, written, strict=False))
        yield f"{number:6}\t" + "\t".join(_cell(cell) for cell in cells)
    if not row_range and last < total:
        yield f"NOTE: {total - last} more rows are not shown; ask for them with `row_range`."


def _cell(value: Any) -> str:
    text = "" if value is None else str(value).replace("\n", "\\n").replace("\t", "\\t")
    return text if len(text) <= MAX_CELL else f"{text[:MAX_CELL]}…"


def powerpoint(file: io.BufferedReader, options: Options) -> Shown:
    """Give the text of slides, with tables and notes."""
    from pptx import Presentation

    slides = list(Presentation(file).slides)
    first, last = bounds("slide_range", options.get("slide_range"), len(slides))
    parts = []
    for number in range(first, last + 1):
        slide = slides[number - 1]
        lines = [line for shape in slide.shapes for line in _shape(shape)]
        if slide.has_notes_slide and slide.notes_slide.notes_text_frame.text.strip():
            lines += ["", f"Notes: {slide.notes_slide.notes_text_frame.text.strip()}"]
        parts.append("\n".join([f"## Slide {number}", "", *lines, ""]))
    return "\n".join(parts), {"file_type": "pptx", "total_slides": len(slides)}


def _shape(shape: Any) -> Iterator[str]:
    if shape.has_text_frame and shape.text_frame.text.strip():
        yield shape.text_frame.text.strip()
    if getattr(shape, "has_table", False) and shape.has_table:
        for row in shape.table.rows:
            yield "\t".join(cell.text.replace("\n", " ") for cell in row.cells)
    for inner in getattr(shape, "shapes", ()):
        yield from _shape(inner)


def bounds(name: str, given: list[int] | None, total: int) -> tuple[int, int]:
    """Check a range from 1, both ends included; -1 as its end is the last. Everything when there is none."""
    if not given:
        return 1, total
    if len(given) != 2:
        raise Problem(f"Invalid `{name}` parameter: {given}. It should be a list of two integers.")
    first, last = given[0], total if given[1] == -1 else min(given[1], total)
    if not 1 <= first <= total:
        raise Problem(f"Invalid `{name}` parameter: {given}. Its first element `{first}` should be within {[1, total]}.")
    if last < first:
        raise Problem(f"Invalid `{name}` parameter: {given}. Its second element should not be smaller than its first.")
    return first, last


if __name__ == "__main__":
    main()
