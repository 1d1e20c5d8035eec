"""Conversion of a document to Markdown."""

import base64
import binascii
import tempfile
from typing import Annotated
from urllib.parse import unquote, unquote_to_bytes, urlsplit

from pydantic import Field

from sandbox_server.core import InvalidArgument, Model, operation
from sandbox_server.drivers.documents.markdown import Conversion, Known
from sandbox_server.drivers.documents.web_markdown import Web
from sandbox_server.drivers.files.files import Files


class UtilConvertToMarkdownRequest(Model):
    uri: Annotated[str, Field(min_length=1)]
    """The document: an `http:`, `https:`, `file:` or `data:` URI."""


class MarkdownConversion:
    """Converts documents."""

    tag = "util"

    def __init__(self, conversion: Conversion, web: Web, files: Files, spool: str) -> None:
        self._conversion = conversion
        self._web = web
        self._files = files
        self._spool = spool

    @operation(
        "POST /v1/util/convert_to_markdown",
        scope="files",
        tool="sandbox_convert_to_markdown",
        open_world=True,
        page_text=True,
        aliases=("markitdown_convert_to_markdown", "markitdown_extract"),
        read_only=True,
    )
    async def convert_to_markdown(self, request: UtilConvertToMarkdownRequest) -> str:
        """Convert a document to Markdown.

        Web pages, PDF, Word, PowerPoint, Excel, EPUB, CSV, notebooks, feeds, text, and archives of them. Files are read
        as the agent. Internal addresses are refused, unless the settings allow them.
        """
        scheme = request.uri.partition(":")[0].lower()
        if scheme in ("http", "https"):
            return await self._of_web(request.uri)
        if scheme == "file":
            return await self._of_file(request.uri)
        if scheme == "data":
            return await self._of_data(request.uri)
        raise InvalidArgument("uri must begin with http:, https:, file: or data:", field="uri")

    async def _of_web(self, uri: str) -> str:
        fetched = await self._web.fetch(uri)
        with fetched.file as file:
            return await self._conversion.markdown(file.fileno(), fetched.known)

    async def _of_file(self, uri: str) -> str:
        path = _path(uri)
        with await self._files.access("convert").open(path) as file:
            return await self._conversion.markdown(file.fd, Known(name=path.rpartition("/")[2]))

    async def _of_data(self, uri: str) -> str:
        known, content = _content(uri)
        with tempfile.TemporaryFile(dir=self._spool) as file:
            file.write(content)
            file.seek(0)
            return await self._conversion.markdown(file.fileno(), known)


def _path(uri: str) -> str:
    try:
        parts = urlsplit(uri)
    except ValueError as error:
        raise InvalidArgument(f"invalid uri: {error}", field="uri") from None
    if parts.netloc not in ("", "localhost") or not parts.path.startswith("/"):
        raise InvalidArgument("a file URI must be file:/// and an absolute path", field="uri")
    return unquote(parts.path)


def _content(uri: str) -> tuple[Known, bytes]:
    """Decode a data URI (RFC 2397)."""
    head, comma, body = uri[len("data:") :].partition(",")
    media_type, *parameters = head.split(";")
    if not comma:
        raise InvalidArgument("a data URI must have a comma before its data", field="uri")
    content = unquote_to_bytes(body)
    if "base64" in parameters:
        try:
            content = base64.b64decode(content, validate=True)
        except binascii.Error as error:
            raise InvalidArgument(f"the data is not base64: {error}", field="uri") from None
    charset = next((value for name, _, value in (each.partition("=") for each in parameters) if name.lower() == "charset"), None)
    return Known(media_type or None, charset), content
