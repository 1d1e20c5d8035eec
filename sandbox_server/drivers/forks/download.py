"""Gets a fork from a URL or a path: a download that is cut goes on where it ended (RFC 9110, Range and If-Range).

Standard library only, because boot uses it. A server that redirects is refused: what is given is the address itself.
"""

import hashlib
import http.client
import os
import ssl
import stat
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import IO
from urllib.parse import urlsplit

PIECE = 1 << 20
TRIES = 8
"""Requests at most that bring nothing new; each that does begins the count anew."""
PAUSES = (0.2, 0.5, 1.0, 2.0, 4.0)
"""Seconds between one try and the next."""
SILENCE_SECONDS = 20.0
"""Seconds without a byte after which a connection is given up."""
_AGAIN = (408, 425, 429)
_PARTIAL, _RANGE = 206, 416


class DownloadError(Exception):
    """It cannot be had; the message says why, and no secret."""


class _Interrupted(Exception):
    """The connection ended, and may be made anew; the message says how."""


@dataclass(frozen=True, slots=True)
class ForkSource:
    """Where a fork is, and the SHA-256 that it must have."""

    place: str
    """An absolute path, or an http(s) URL without a fragment."""
    sha256: str

    @property
    def is_path(self) -> bool:
        """Whether it is a file of this machine."""
        return self.place.startswith("/")

    @property
    def shown(self) -> str:
        """The place without what may be a credential: user, query."""
        if self.is_path:
            return self.place
        address = urlsplit(self.place)
        return f"{address.scheme}://{address.netloc.rpartition('@')[2]}{address.path}"


class ForkDownload:
    """One download to `out`, of at most `limit` bytes, until `deadline` by the monotonic clock."""

    def __init__(self, source: ForkSource, out: IO[bytes], *, limit: int, deadline: float, authorization: str = "") -> None:
        self._source = source
        self._out = out
        self._limit = limit
        self._deadline = deadline
        self._authorization = authorization
        self._got = 0
        self._etag: str | None = None
        self._total: int | None = None

    def run(self, pause: Callable[[float], None] = time.sleep) -> None:
        """Get all of it, check its digest, and go back to its start. Raises DownloadError."""
        if self._source.is_path:
            self._copy()
        else:
            self._fetch(pause)
        self._out.flush()
        self._check_digest()

    def _copy(self) -> None:
        try:
            with open(self._source.place, "rb", opener=_open_file) as file:
                while piece := file.read(PIECE):
                    self._write(piece)
        except OSError as error:
            raise DownloadError(f"it cannot be read: {error.strerror}") from None

    def _fetch(self, pause: Callable[[float], None]) -> None:
        fruitless = 0
        while True:
            before = self._got
            try:
                self._request()
                return
            except (_Interrupted, OSError, http.client.HTTPException) as error:
                reason = str(error) or type(error).__name__
            fruitless = 1 if self._got > before else fruitless + 1
            wait = PAUSES[min(fruitless, len(PAUSES)) - 1]
            if fruitless == TRIES:
                raise DownloadError(f"it cannot be had, {TRIES} times in a row: {reason}")
            if time.monotonic() + wait > self._deadline:
                raise DownloadError(f"it was not there in time, {self._got} bytes were: {reason}")
            pause(wait)

    def _request(self) -> None:
        connection, target = self._connected()
        try:
            connection.request("GET", target, headers=self._headers())
            answer = connection.getresponse()
            self._begin(answer)
            self._read(answer)
        finally:
            connection.close()

    def _connected(self) -> tuple[http.client.HTTPConnection, str]:
        address, seconds = urlsplit(self._source.place), min(SILENCE_SECONDS, max(0.1, self._deadline - time.monotonic()))
        host = address.hostname or ""
        target = f"{address.path or '/'}{'?' if address.query else ''}{address.query}"
        if address.scheme == "https":
            context = ssl.create_default_context()
            return http.client.HTTPSConnection(host, address.port, timeout=seconds, context=context), target
        return http.client.HTTPConnection(host, address.port, timeout=seconds), target

    def _headers(self) -> dict[str, str]:
        told = {"Accept": "*/*", "Accept-Encoding": "identity"}
        if self._authorization:
            told["Authorization"] = self._authorization
        if self._got and self._etag:
            told |= {"Range": f"bytes={self._got}-", "If-Range": self._etag}
        return told

    def _begin(self, answer: http.client.HTTPResponse) -> None:
        """Take an answer's status and headers: go on where the last one ended, or begin anew."""
        status, resumed = answer.status, bool(self._got and self._etag)
        if 300 <= status < 400:
            raise DownloadError(f"the server redirects to {_host(answer.headers.get('location', ''))}: give the address itself")
        if status >= 500 or status in _AGAIN:
            raise _Interrupted(f"the server answers {status}")
        if status == _RANGE and resumed:
            self._start_over()
            raise _Interrupted("the server has less of it than before")
        if status == _PARTIAL and resumed:
            self._check_range(answer)
            return
        if status != 200:
            raise DownloadError(f"the server answers {status}")
        if (encoding := answer.headers.get("content-encoding", "identity")) != "identity":
            raise DownloadError(f"the server encodes it as {encoding[:20]!r}")
        self._start_over()
        etag = answer.headers.get("etag", "")
        self._etag = etag if etag.startswith('"') and len(etag) < 1000 and etag.isprintable() else None
        self._total = answer.length
        if self._total is not None and self._total > self._limit:
            raise DownloadError(f"it has {self._total} bytes, and at most {self._limit} are taken")

    def _check_range(self, answer: http.client.HTTPResponse) -> None:
        """Raise _Interrupted, to begin anew, where the server goes on elsewhere or with another file."""
        span, _, total = answer.headers.get("content-range", "").removeprefix("bytes ").partition("/")
        other = answer.headers.get("etag", self._etag) != self._etag
        if span.partition("-")[0] != str(self._got) or total not in (str(self._total), "*") or other:
            self._start_over()
            raise _Interrupted("the server went on with another file")

    def _read(self, answer: http.client.HTTPResponse) -> None:
        while piece := answer.read1(PIECE):
            self._write(piece)
            if time.monotonic() > self._deadline:
                raise DownloadError(f"it was not there in time, {self._got} bytes were")
        if self._total is not None and self._got != self._total:
            raise _Interrupted(f"the connection ended after {self._got} of {self._total} bytes")

    def _write(self, piece: bytes) -> None:
        self._got += len(piece)
        if self._got > self._limit:
            raise DownloadError(f"it has more than {self._limit} bytes")
        self._out.write(piece)

    def _start_over(self) -> None:
        self._got, self._etag, self._total = 0, None, None
        self._out.seek(0)
        self._out.truncate()

    def _check_digest(self) -> None:
        self._out.seek(0)
        digest = hashlib.file_digest(self._out, "sha256").hexdigest()  # type: ignore[arg-type] # a file opened in binary mode
        self._out.seek(0)
        if digest != self._source.sha256:
            raise DownloadError(f"its SHA-256 is {digest}, and {self._source.sha256} was asked for")


def _open_file(path: str, flags: int) -> int:
    descriptor = os.open(path, flags | os.O_NONBLOCK | os.O_CLOEXEC)
    if not stat.S_ISREG(os.fstat(descriptor).st_mode):
        os.close(descriptor)
        raise OSError(0, "it is no regular file")
    return descriptor


def _host(location: str) -> str:
    try:
        return urlsplit(location).hostname or "another path"
    except ValueError:
        return "no address"
