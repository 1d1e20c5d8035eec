"""A program that turns a document into Markdown, with markitdown.

It reads the document from standard input and one JSON object from its argument: `{"media_type", "charset", "name", "url"}`, each of
which may be null. It writes `{"text", "title"}`, or `{"problem"}` for the caller. See `drivers.confined` for how it runs.
It imports nothing of ours.

markitdown asks a neural network of 150 MB what a document is. That is left out: the server's word, the name and the first bytes tell it.
Its converters of pictures and sounds need programs and services that are not here; PDF and Excel are converted with what the server
has anyway.
"""

import io
import json
import os
import sys
import types
import zipfile
from collections.abc import Iterator
from typing import Any, BinaryIO

HEAD = 4096
"""Bytes by which a document is known."""
MAX_ROWS = 10_000
"""Rows of a sheet that are shown."""
VAGUE = (None, "", "application/octet-stream", "application/zip", "application/x-zip-compressed", "binary/octet-stream", "text/plain")
"""Types that say less than the bytes do."""
OFFICE = {
    "word/document.xml": ".docx",
    "xl/workbook.xml": ".xlsx",
    "ppt/presentation.xml": ".pptx",
    "META-INF/container.xml": ".epub",
}
"""The archives that are documents, by a member that each has."""


class Problem(Exception):
    """Something that the caller can put right."""


def main() -> None:
    """Read, convert, write."""
    options = json.loads(sys.argv[1])
    try:
        with os.fdopen(os.dup(0), "rb") as file:
            answer = convert(file, options)
    except Problem as problem:
        answer = {"problem": str(problem)}
    except MemoryError:
        answer = {"problem": "The document is too large to be converted."}
    except Exception as error:  # noqa: BLE001 - the top of a program: a parser may raise anything about a hostile file
        answer = {"problem": f"The document cannot be converted: {_reason(error)}"}
    sys.stdout.buffer.write(json.dumps(answer).encode())


def convert(file: BinaryIO, options: dict[str, str | None]) -> dict[str, Any]:
    """Convert a document of which some things may be known."""
    sys.modules.setdefault("magika", _unguessing())
    from markitdown import MarkItDown, StreamInfo

    extension, charset = kind_of(file, options)
    if extension is None:
        raise Problem("There is no converter for what is there: it is neither text nor a document that is known.")
    known = StreamInfo(extension=extension, charset=charset, url=options.get("url"))
    converter = MarkItDown(enable_builtins=False)
    for each in _converters(converter):
        converter.register_converter(each)
    done = converter.convert_stream(file, stream_info=known)
    return {"text": done.markdown, "title": done.title}


def _unguessing() -> types.ModuleType:
    """What markitdown imports as `magika`; it never has a guess."""
    module = types.ModuleType("magika")
    module.Magika = _Unguessing  # type: ignore[attr-defined]
    return module


class _Unguessing:
    status = "none"

    def identify_stream(self, _: BinaryIO) -> "_Unguessing":
        return self


def kind_of(file: BinaryIO, options: dict[str, str | None]) -> tuple[str | None, str | None]:
    """The extension of such documents, and the charset of a text; what has a charset, markitdown takes for text."""
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
    """UTF-8 where that fits; otherwise what a page says of itself, or the best guess, counts."""
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
    """Those that work here; the last one that takes a document converts it."""
    from markitdown import converters as built_in

    yield built_in.PlainTextConverter()
    yield built_in.ZipConverter(markitdown=converter)
    yield built_in.HtmlConverter()
    for kind in ("Rss", "Wikipedia", "YouTube", "BingSerp", "Docx", "Pptx", "Ipynb", "Epub", "Csv"):
        yield getattr(built_in, f"{kind}Converter")()
    yield from _own()


def _own() -> Iterator[Any]:
    from markitdown import DocumentConverter, DocumentConverterResult, StreamInfo

    class Own(DocumentConverter):
        def __init__(self, extension: str, text: Any) -> None:
            self._extension = extension
            self._text = text

        def accepts(self, file_stream: BinaryIO, stream_info: StreamInfo, **kwargs: Any) -> bool:
            return bool(stream_info.extension == self._extension)

        def convert(self, file_stream: BinaryIO, stream_info: StreamInfo, **kwargs: Any) -> DocumentConverterResult:
            return DocumentConverterResult(markdown="\n\n".join(self._text(file_stream)))

    yield Own(".pdf", pdf)
    yield Own(".xlsx", excel)


def pdf(file: BinaryIO) -> Iterator[str]:
    """Give the text of each page."""
    from pypdf import PdfReader

    reader = PdfReader(file)
    if reader.is_encrypted and not reader.decrypt(""):
        raise Problem("The PDF is protected by a password.")
    for page in reader.pages:
        if text := page.extract_text().strip():
            yield text


def excel(file: BinaryIO) -> Iterator[str]:
    """Give each sheet as a table whose first row is its head."""
    import openpyxl

    book = openpyxl.load_workbook(io.BytesIO(file.read()), read_only=True, data_only=True)
    for sheet in book.worksheets:
        yield f"## {sheet.title}"
        rows = list(sheet.iter_rows(max_row=MAX_ROWS + 1, values_only=True))
        shown = [[_cell(value) for value in row] for row in rows[:MAX_ROWS]]
        if shown:
            lines = [shown[0], ["---"] * len(shown[0]), *shown[1:]]
            yield "\n".join(f"| {' | '.join(line)} |" for line in lines)
        if len(rows) > MAX_ROWS:
            yield f"(There are more than {MAX_ROWS} rows.)"


def _cell(value: object) -> str:
    text = "" if value is None else str(value)
    return text.replace("\\", "\\\\").replace("|", "\\|").replace("\r", "").replace("\n", "<br>")


def _reason(error: Exception) -> str:
    """What went wrong. The library wraps what its converters raise."""
    attempts = getattr(error, "attempts", None) or []
    inner = next((attempt.exc_info[1] for attempt in attempts if attempt.exc_info), error)
    return str(inner) if isinstance(inner, Problem) else f"{type(inner).__name__}: {inner}"


if __name__ == "__main__":
    main()
