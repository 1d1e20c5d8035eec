"""Large bodies: ranges and conditional requests in constant memory (RFC 9110, sections 13 and 14)."""

import email.utils
import logging
import re
from urllib.parse import quote

from starlette.requests import Request
from starlette.responses import Response, StreamingResponse
from starlette.types import Receive, Scope, Send

from sandbox_server.core.entity_tags import is_not_modified
from sandbox_server.core.errors import Failure
from sandbox_server.core.results import Content

_log = logging.getLogger(__name__)
_RANGE = re.compile(r"bytes=(\d{0,18})-(\d{0,18})")


def content_response(content: Content, request: Request) -> Response:
    """Answer `Content` whole, in part (206), as not modified (304) or out of range (416).

    `Content.close` is always called.
    """
    headers = _headers(content)
    if is_not_modified(request.headers, content.etag):
        content.close()
        return Response(status_code=304, headers=headers)
    asked = _requested_range(content, request)
    start, stop = asked or (0, content.size)
    if asked and start >= stop:
        content.close()
        return Response(status_code=416, headers={**headers, "Content-Range": f"bytes */{content.size}"})
    headers["Content-Length"] = str(stop - start)
    if asked:
        headers["Content-Range"] = f"bytes {start}-{stop - 1}/{content.size}"
    status = 206 if asked else 200
    if request.method == "HEAD":
        content.close()
        return Response(status_code=status, headers=headers, media_type=content.media_type)
    return _ContentResponse(content, start, stop, status, headers)


class _ContentResponse(StreamingResponse):
    """Closes the content even if the client was gone before the first byte."""

    def __init__(self, content: Content, start: int, stop: int, status: int, headers: dict[str, str]) -> None:
        super().__init__(content.read(start, stop), status, headers, content.media_type)
        self._close = content.close

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        try:
            await super().__call__(scope, receive, send)
        except Failure as failure:  # the status is sent: only a broken connection can signal the error
            _log.warning("a download was cut off: %s", failure.message)
        finally:
            self._close()


def _headers(content: Content) -> dict[str, str]:
    headers = {"Accept-Ranges": "bytes", "ETag": content.etag, **content.headers}
    if content.modified is not None:
        headers["Last-Modified"] = email.utils.formatdate(content.modified, usegmt=True)
    if content.filename is not None:
        headers["Content-Disposition"] = f"attachment; filename*=UTF-8''{quote(content.filename, errors='replace')}"
    return headers


def _requested_range(content: Content, request: Request) -> tuple[int, int] | None:
    """Return the requested bytes. Several ranges, an unknown unit or another version mean the whole, as in the RFC."""
    match = _RANGE.fullmatch(request.headers.get("range", "").strip())
    condition = request.headers.get("if-range")
    if match is None or match.group(0) == "bytes=-" or (condition is not None and condition != content.etag):
        return None
    first, last = match.groups()
    if not first:
        return max(0, content.size - int(last)), content.size if int(last) else 0
    return int(first), min(int(last) + 1, content.size) if last else content.size
