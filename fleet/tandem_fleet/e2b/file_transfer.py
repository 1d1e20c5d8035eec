"""Up- and downloads at `/files`: bytes pass through, to and from the sandbox."""

import posixpath
import secrets
import zlib
from collections.abc import AsyncIterator
from dataclasses import dataclass

import httpx2
from starlette.requests import Request
from starlette.responses import JSONResponse, Response, StreamingResponse

from tandem_fleet.e2b.connect_protocol import RPCError
from tandem_fleet.e2b.context import ROOT_HOME, is_root, resolve
from tandem_fleet.e2b.multipart_stream import MultipartFiles
from tandem_fleet.e2b.sandbox_calls import SandboxCalls, read_answer

MAX_PATH = 4096
PIECE = 256 << 10
PASSED_ON = ("content-length", "content-type", "content-range", "accept-ranges", "etag", "last-modified")
"""Headers of a download that the caller gets."""
HARMLESS = {"Content-Security-Policy": "sandbox", "X-Content-Type-Options": "nosniff", "Referrer-Policy": "no-referrer"}
"""On one address files share an origin with the fleet's own pages: a browser gives them none, and runs no script of theirs."""
CONDITIONS = ("range", "if-range", "if-none-match")
"""Headers of a request that the sandbox gets."""


@dataclass(frozen=True)
class Transfer:
    """Up- and downloads of one sandbox, for a user of it."""

    calls: SandboxCalls
    user: str

    async def download(self, request: Request) -> Response:
        """The bytes of a file. Ranges are supported."""
        path = await self._resolve(request.query_params.get("path", ""))
        headers = {name: request.headers[name] for name in CONDITIONS if name in request.headers}
        params = {"path": path, "sudo": is_root(self.user)}
        opened = self.calls.stream("GET", "/v1/file/download", headers, params=params, timeout=httpx2.Timeout(300, connect=5))
        response = await opened.__aenter__()

        async def content() -> AsyncIterator[bytes]:
            try:
                async for chunk in response.aiter_raw():
                    yield chunk
            finally:
                await opened.__aexit__(None, None, None)

        kept = {name: response.headers[name] for name in PASSED_ON if name in response.headers}
        return StreamingResponse(content(), response.status_code, kept | HARMLESS)

    async def upload(self, request: Request) -> Response:
        """Write files: those of a form, or the body itself."""
        if metadata := next((name for name in request.headers if name.startswith("x-metadata-")), ""):
            raise RPCError("invalid_argument", f"metadata of files is not kept: {metadata[:80]}")
        named = request.query_params.get("path", "")
        kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
        if kind == "application/octet-stream":
            if not named:
                raise RPCError("invalid_argument", "path query parameter is required for raw body upload")
            return JSONResponse([await self._write(named, _decoded(request))])
        files = MultipartFiles(request)
        written = []
        while (name := await files.next_file()) is not None:
            written.append(await self._write(named or name, files.chunks()))
        return JSONResponse(written)

    async def _resolve(self, path: str) -> str:
        if not path or len(path) > MAX_PATH:
            raise RPCError("invalid_argument", f"a path has 1 to {MAX_PATH} characters")
        return resolve(path, ROOT_HOME if is_root(self.user) else await self.calls.home())

    async def _write(self, named: str, chunks: AsyncIterator[bytes]) -> dict[str, str]:
        path = await self._resolve(named)
        if await self._is_directory(path):
            raise RPCError("invalid_argument", f"path is a directory: {path}")
        if not is_root(self.user):
            await self._send(path, chunks)
        else:
            staged = f"/tmp/.upload-{secrets.token_hex(8)}"  # of the sandbox
            await self._send(staged, chunks)
            owner = {"path": staged, "owner": "root", "group": "root", "sudo": True}
            await self.calls.call("POST", "/v1/file/chmod", owner)
            place = {"path": staged, "destination": path, "overwrite": True, "sudo": True}
            await self.calls.call("POST", "/v1/file/move", place)
        return {"name": posixpath.basename(path), "type": "file", "path": path}

    async def _is_directory(self, path: str) -> bool:
        try:
            status = await self.calls.call("POST", "/v1/file/stat", {"path": path, "sudo": is_root(self.user)})
        except RPCError:
            return False  # the upload itself says what is wrong
        return bool(status.get("type") == "directory")

    async def _send(self, path: str, chunks: AsyncIterator[bytes]) -> None:
        boundary = secrets.token_hex(16)
        headers = {"Content-Type": f"multipart/form-data; boundary={boundary}"}
        timeout = httpx2.Timeout(300, connect=5)
        content = _form(boundary, path, chunks)
        async with self.calls.stream("POST", "/v1/file/upload", headers, content=content, timeout=timeout) as response:
            await read_answer(response)


async def _form(boundary: str, path: str, chunks: AsyncIterator[bytes]) -> AsyncIterator[bytes]:
    """A form of a path and a file."""
    yield f'--{boundary}\r\nContent-Disposition: form-data; name="path"\r\n\r\n{path}\r\n'.encode("utf-8", "surrogateescape")
    yield f'--{boundary}\r\nContent-Disposition: form-data; name="file"; filename="file"\r\n\r\n'.encode()
    async for chunk in chunks:
        yield chunk
    yield f"\r\n--{boundary}--\r\n".encode()


async def _decoded(request: Request) -> AsyncIterator[bytes]:
    """The body, decompressed in pieces where it is compressed."""
    encoding = request.headers.get("content-encoding", "identity").strip().lower()
    if encoding not in ("identity", "gzip"):
        raise RPCError("invalid_argument", f"unsupported encoding: {encoding[:40]}")
    if encoding == "identity":
        async for chunk in request.stream():
            yield chunk
        return
    inflate = zlib.decompressobj(zlib.MAX_WBITS | 16)
    try:
        async for chunk in request.stream():
            while chunk and not inflate.eof:
                yield inflate.decompress(chunk, PIECE)
                chunk = inflate.unconsumed_tail
    except zlib.error as error:
        raise RPCError("invalid_argument", f"error decompressing request body: {error}") from error
    if not inflate.eof:
        raise RPCError("invalid_argument", "error decompressing request body: it ended early")
