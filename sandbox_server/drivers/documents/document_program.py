"""A program that converts a document: to text by pages, sheets or slides (`"form": "text"`), or to Markdown (`"form": "markdown"`).

It reads the document from standard input and one JSON object of options from its argument. It writes one JSON object:
its answer, or `{"problem"}` with a sentence for the caller. It runs as the agent with limits on time and memory,
because the libraries parse untrusted input (`drivers.spawn.confined_program`). It is run by path in isolated mode, so
it imports nothing of Tandem.

`text` takes page_range, row_range, slide_range and sheet_name, and returns `{"text", "metadata"}`. `markdown` takes the
known properties of the document, `{"media_type", "charset", "name", "url"}`, each of which may be null, and returns
`{"text", "title"}`.

markitdown uses a neural network of 150 MB to identify documents. It is left out: the server's media type, the name and
the first bytes identify them. Its converters of images and sounds need programs and services that are not installed.
PDF and Excel are converted by the readers below.
"""

import io
import json
import os
import sys
import types
import zipfile
from collections.abc import Callable, Iterator
from typing import Any, BinaryIO

MAX_ROWS = 1000
"""Limit of rows of a sheet that are returned as text if no range is requested."""
MAX_TABLE_ROWS = 10_000
"""Limit of rows of a sheet in Markdown."""
MAX_CELL = 1000
"""Limit of characters of a cell as text."""
HEAD = 4096
"""Bytes that identify a document."""
VAGUE = (None, "", "application/octet-stream", "application/zip", "application/x-zip-compressed", "binary/octet-stream", "text/plain")
"""Media types that say less than the first bytes."""
OFFICE = {
    "word/document.xml": ".docx",
    "xl/workbook.xml": ".xlsx",
    "ppt/presentation.xml": ".pptx",
    "META-INF/container.xml": ".epub",
}
"""Zip-based document formats, by a member that each has."""

type Options = dict[str, Any]
type Shown = tuple[str, dict[str, Any]]


class Problem(Exception):
    """An error that the caller can fix."""


def main() -> None:
    """Read, convert, write."""
    options = json.loads(sys.argv[1])
    wanted, verb = (markdown, "converted") if options.pop("form") == "markdown" else (text, "read")
    try:
        with os.fdopen(os.dup(0), "rb") as file:
            answer = wanted(file, options)
    except Problem as problem:
        answer = {"problem": str(problem)}
    except MemoryError:
        answer = {"problem": f"The document is too large to be {verb}."}
    except Exception as error:  # noqa: BLE001 - the top of a program: a parser may raise anything about a hostile file
        answer = {"problem": f"The document cannot be {verb}: {_reason(error)}"}
    sys.stdout.buffer.write(json.dumps(answer).encode())


def text(file: io.BufferedReader, options: Options) -> dict[str, Any]:
    """Return a document, or a part of it, as text."""
    shown, metadata = _reader(file)(file, options)
    return {"text": shown, "metadata": metadata}


def markdown(file: BinaryIO, options: Options) -> dict[str, Any]:
    """Convert a document to Markdown."""
    sys.modules.setdefault("magika", _unguessing())
    from markitdown import MarkItDown, StreamInfo

    extension, charset = kind_of(file, options)
    if extension is None:
        raise Problem("The content is neither text nor a supported document.")
    known = StreamInfo(extension=extension, charset=charset, url=options.get("url"))
    converter = MarkItDown(enable_builtins=False)
    for each in _converters(converter):
        converter.register_converter(each)
    done = converter.convert_stream(file, stream_info=known)
    return {"text": done.markdown, "title": done.title}


def _reader(file: io.BufferedReader) -> Callable[[io.BufferedReader, Options], Shown]:
    if b"%PDF-" in file.peek(1024)[:1024]:
        return pdf_pages
    try:
        names = zipfile.ZipFile(file).namelist()
    except zipfile.BadZipFile:
        raise Problem("The file is neither a PDF, an Excel workbook nor a PowerPoint presentation.") from None
    file.seek(0)
    if "xl/workbook.xml" in names:
        return excel_rows
    if "ppt/presentation.xml" in names:
        return powerpoint_slides
    raise Problem("The file is a zip archive, but neither an Excel workbook nor a PowerPoint presentation.")


def pdf_pages(file: io.BufferedReader, options: Options) -> Shown:
    """Return the text of pages."""
    reader = _opened_pdf(file)
    total = len(reader.pages)
    first, last = bounds("page_range", options.get("page_range"), total)
    parts = [f"## Page {number}\n\n{reader.pages[number - 1].extract_text().strip()}\n" for number in range(first, last + 1)]
    title = reader.metadata.title if reader.metadata else None
    return "\n".join(parts), {"file_type": "pdf", "total_pages": total, "title": title}


def _opened_pdf(file: BinaryIO) -> Any:
    from pypdf import PdfReader

    reader = PdfReader(file)
    if reader.is_encrypted and not reader.decrypt(""):
        raise Problem("The PDF is protected by a password.")
    return reader


def excel_rows(file: io.BufferedReader, options: Options) -> Shown:
    """Return the rows of sheets: values, and formulas that were never computed."""
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


def powerpoint_slides(file: io.BufferedReader, options: Options) -> Shown:
    """Return the text of slides, with tables and notes."""
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
    """Check a range of two numbers from 1, both ends included; -1 means the last.

    Returns everything without a range.
    """
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


def _unguessing() -> types.ModuleType:
    """A stand-in for `magika`, which markitdown imports; it never guesses."""
    module = types.ModuleType("magika")
    module.Magika = _Unguessing  # type: ignore[attr-defined]
    return module


class _Unguessing:
    status = "none"

    def identify_stream(self, _: BinaryIO) -> "_Unguessing":
        return self


def kind_of(file: BinaryIO, options: dict[str, str | None]) -> tuple[str | None, str | None]:
    """Return the extension of a document, and the charset of a text. markitdown treats everything with a charset as text."""
    import mimetypes

    head = file.read(HEAD)
    file.seek(0)
    told = (options.get("media_type") or "").lower()
    named = os.path.splitext(options.get("name") or "")[1].lower()
    extension = magic = _magic(file, head)
    if extension is None and told not in VAGUE:
        extension = {"application/xhtml+xml": ".html", "text/markdown": ".md"}.get(told) or mimetypes.guess_extension(told)
    if extension is None and _is_text(head):
        extension = named or _text_kind(head)
    return extension, (options.get("charset") or _charset(file)) if _is_text(head) and magic is None else None


def _magic(file: BinaryIO, head: bytes) -> str | None:
    if b"%PDF-" in head[:1024]:
        return ".pdf"
    if not head.startswith(b"PK\x03\x04"):
        return None
    try:
        members = set(zipfile.ZipFile(file).namelist())
    except zipfile.BadZipFile as error:
        raise Problem(f"The archive is broken: {error}.") from None
    finally:
        file.seek(0)
    return next((extension for member, extension in OFFICE.items() if member in members), ".zip")


def _is_text(head: bytes) -> bool:
    return b"\0" not in head or head.startswith((b"\xff\xfe", b"\xfe\xff"))


def _text_kind(head: bytes) -> str:
    start = head.lstrip(b"\xef\xbb\xbf \t\r\n").lower()
    return ".html" if start.startswith((b"<!doctype html", b"<html", b"<head", b"<body")) else ".txt"


def _charset(file: BinaryIO) -> str | None:
    """Return UTF-8 if the text is valid UTF-8; otherwise the declared or the guessed charset."""
    content = file.read(1 << 20)
    file.seek(0)
    if content.startswith((b"\xff\xfe", b"\xfe\xff")):
        return "utf-16"
    try:
        content[: len(content) - 4].decode("utf-8")
    except UnicodeDecodeError as error:
        if error.end < len(content) - 8:
            import charset_normalizer

            best = charset_normalizer.from_bytes(content[:65536]).best()
            return best.encoding if best else None
    return "utf-8"


def _converters(converter: Any) -> Iterator[Any]:
    """Yield the converters that work here. The last one that accepts a document converts it."""
    from markitdown import converters as built_in

    yield built_in.PlainTextConverter()
    yield built_in.ZipConverter(markitdown=converter)
    yield built_in.HtmlConverter()
    for kind in ("Rss", "Wikipedia", "YouTube", "BingSerp", "Docx", "Pptx", "Ipynb", "Epub", "Csv"):
        yield getattr(built_in, f"{kind}Converter")()
    yield from _own_converters()


def _own_converters() -> Iterator[Any]:
    from markitdown import DocumentConverter, DocumentConverterResult, StreamInfo

    class Own(DocumentConverter):
        def __init__(self, extension: str, text: Any) -> None:
            self._extension = extension
            self._text = text

        def accepts(self, file_stream: BinaryIO, stream_info: StreamInfo, **kwargs: Any) -> bool:
            return bool(stream_info.extension == self._extension)

        def convert(self, file_stream: BinaryIO, stream_info: StreamInfo, **kwargs: Any) -> DocumentConverterResult:
            return DocumentConverterResult(markdown="\n\n".join(self._text(file_stream)))

    yield Own(".pdf", pdf_text)
    yield Own(".xlsx", excel_tables)


def pdf_text(file: BinaryIO) -> Iterator[str]:
    """Yield the text of each page."""
    for page in _opened_pdf(file).pages:
        if text := page.extract_text().strip():
            yield text


def excel_tables(file: BinaryIO) -> Iterator[str]:
    """Yield each sheet as a table with the first row as its head."""
    import openpyxl

    book = openpyxl.load_workbook(io.BytesIO(file.read()), read_only=True, data_only=True)
    for sheet in book.worksheets:
        yield f"## {sheet.title}"
        rows = list(sheet.iter_rows(max_row=MAX_TABLE_ROWS + 1, values_only=True))
        shown = [[_table_cell(value) for value in row] for row in rows[:MAX_TABLE_ROWS]]
        if shown:
            lines = [shown[0], ["---"] * len(shown[0]), *shown[1:]]
            yield "\n".join(f"| {' | '.join(line)} |" for line in lines)
        if len(rows) > MAX_TABLE_ROWS:
            yield f"(There are more than {MAX_TABLE_ROWS} rows.)"


def _table_cell(value: object) -> str:
    text = "" if value is None else str(value)
    return text.replace("\\", "\\\\").replace("|", "\\|").replace("\r", "").replace("\n", "<br>")


def _reason(error: Exception) -> str:
    """Return the original error, which the library wraps."""
    attempts = getattr(error, "attempts", None) or []
    inner = next((attempt.exc_info[1] for attempt in attempts if attempt.exc_info), error)
    return str(inner) if isinstance(inner, Problem) else f"{type(inner).__name__}: {inner}"


if __name__ == "__main__":
    main()
