"""Text encodings of files: decoding, and encoding back to the same bytes."""

import base64
import binascii
import codecs
from dataclasses import dataclass
from typing import Literal

from sandbox_server.core import FileError

type Encoding = Literal["auto", "utf-8", "utf-16", "raw", "base64"]

_MARKS = ((codecs.BOM_UTF16_LE, "utf-16-le"), (codecs.BOM_UTF16_BE, "utf-16-be"))
_SHOWN = {"utf-8": "utf-8", "utf-16-le": "utf-16", "utf-16-be": "utf-16", "latin-1": "raw", "base64": "base64"}


@dataclass(frozen=True, slots=True)
class DecodedText:
    """Text and its encoding in the file: `mark` comes first, then `content` in `codec`."""

    content: str
    codec: str = "utf-8"
    mark: bytes = b""

    @property
    def encoding(self) -> str:
        """The API's name of the encoding."""
        return _SHOWN[self.codec]

    def with_content(self, content: str) -> "DecodedText":
        """Return other text in the same encoding."""
        return DecodedText(content, self.codec, self.mark)

    def encode(self, *, lossless: bool = False) -> bytes:
        """Return the file's bytes.

        Pass the same `lossless` as for decoding. Raises UnicodeEncodeError for characters that the encoding lacks.
        """
        return self.mark + self.content.encode(self.codec, "surrogateescape" if lossless else "strict")


def decode(data: bytes, *, path: str, operation: str, encoding: Encoding = "auto", lossless: bool = False) -> DecodedText:
    """Decode text: UTF-16 by its byte order mark, else UTF-8. A mark of UTF-8 stays the first character.

    With `lossless`, invalid UTF-8 becomes surrogate escapes instead of a FileError.
    """
    mark, codec = _sniff(data) if encoding in ("auto", "utf-16") else (b"", "utf-8")
    if encoding == "utf-16" and not mark:
        codec = "utf-16-le"
    if encoding == "raw":
        codec = "latin-1"
    try:
        return DecodedText(data[len(mark) :].decode(codec, "surrogateescape" if lossless else "strict"), codec, mark)
    except UnicodeDecodeError as error:
        found = f"byte {data[len(mark) + error.start : len(mark) + error.start + 1].hex()} at offset {len(mark) + error.start}"
        message = f"Failed to {operation} file: {path!r} is not {_SHOWN[codec].upper()} text: {error.reason}, {found}"
        raise decode_error(message, path, operation, type(error).__name__) from None


def split_lines(text: str) -> list[str]:
    """Split after each newline only: a carriage return or a form feed is content."""
    lines = [f"{line}\n" for line in text.split("\n")]
    lines[-1] = lines[-1][:-1]
    return lines if lines[-1] else lines[:-1]


def content_of(text: str, encoding: Literal["utf-8", "base64", "raw"], *, path: str) -> bytes:
    """Return the bytes of a caller's content in one of the contract's encodings; `raw` has one character per byte."""
    try:
        if encoding == "base64":
            return base64.b64decode("".join(text.split()), validate=True)
        return text.encode("latin-1" if encoding == "raw" else "utf-8")
    except (UnicodeEncodeError, binascii.Error) as error:
        message = f"Failed to write file: the content is not {encoding}: {error}"
        raise decode_error(message, path, "write", type(error).__name__) from None


def decode_error(message: str, path: str, operation: str, exception: str) -> FileError:
    """Return the error for bytes that are not text, with advice."""
    hint = "Ask for encoding 'raw' to get Latin-1 text, or 'base64' for the bytes; download it if it is large."
    return FileError(
        message,
        path=path,
        operation=operation,
        error_type="decode_error",
        exception_type=exception,
        hint=hint if operation != "write" else None,
    )


def _sniff(data: bytes) -> tuple[bytes, str]:
    return next(((mark, codec) for mark, codec in _MARKS if data.startswith(mark)), (b"", "utf-8"))
