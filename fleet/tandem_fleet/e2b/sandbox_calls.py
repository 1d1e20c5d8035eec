"""Calls of a sandbox's own operations, with a token that the fleet signed for it."""

import asyncio
import json
import time
from collections import OrderedDict
from collections.abc import AsyncIterator, Callable, Coroutine, Mapping
from contextlib import asynccontextmanager, suppress
from typing import Any

import httpx2

from tandem_fleet.e2b.connect_protocol import RPCError
from tandem_fleet.sandbox_http import sandbox_http
from tandem_fleet.sandboxes import Sandbox
from tandem_fleet.signing_key import SigningKey

SCOPES = ("code", "files", "shell", "view")
SUBJECT = "e2b"
"""The caller's name in the sandbox's record."""
TOKEN_SECONDS = 3600
RENEW_SECONDS = 600
KEPT = 10_000
"""Sandboxes whose token and home are kept in memory; of the others they are made and asked for again."""
LATER_SECONDS = 30.0
"""How long something may take that nobody waits for."""
CONNECT_SECONDS = 5.0
READ_SECONDS = 310.0
MAX_HOME = 4096
MAX_ANSWER = 64 << 20
"""Bytes of an answer that is read whole, and of one event."""
_CODES = {
    400: "invalid_argument",
    403: "permission_denied",
    404: "not_found",
    409: "failed_precondition",
    413: "resource_exhausted",
    422: "invalid_argument",
    423: "failed_precondition",
    429: "resource_exhausted",
    503: "unavailable",
    504: "deadline_exceeded",
}
_FILE_CODES = {
    "not_found": "not_found",
    "permission_denied": "permission_denied",
    "read_only_filesystem": "permission_denied",
    "already_exists": "already_exists",
    "no_space_left": "resource_exhausted",
    "invalid_target": "invalid_argument",
    "invalid_path": "invalid_argument",
}
"""Codes of errors by the sandbox's `error_type`."""


class SandboxClients:
    """Makes the callers of sandboxes; closes their connections."""

    def __init__(self, key: SigningKey) -> None:
        self._key = key
        timeout = httpx2.Timeout(READ_SECONDS, connect=CONNECT_SECONDS)
        limits = httpx2.Limits(max_connections=None, max_keepalive_connections=256)
        self._http = sandbox_http(timeout=timeout, limits=limits)
        self._tokens: OrderedDict[str, tuple[str, float]] = OrderedDict()
        self._homes: OrderedDict[str, str] = OrderedDict()
        self._later: set[asyncio.Task[None]] = set()

    async def close(self) -> None:
        """Close every connection, once what was left to be done is."""
        await asyncio.gather(*self._later, return_exceptions=True)
        await self._http.aclose()

    def later(self, work: Coroutine[Any, Any, None]) -> None:
        """Have something done that a caller does not wait for, who may have left."""
        task = asyncio.create_task(_tried(work))
        self._later.add(task)
        task.add_done_callback(self._later.discard)

    def calls(self, sandbox: Sandbox) -> "SandboxCalls":
        """The caller of one sandbox, which is ready."""
        token, until = self._tokens.get(sandbox.id, ("", 0.0))
        if until < time.monotonic():
            token = self._key.sign(sandbox.id, SUBJECT, SCOPES, TOKEN_SECONDS)
            _keep(self._tokens, sandbox.id, (token, time.monotonic() + TOKEN_SECONDS - RENEW_SECONDS))
        return SandboxCalls(self._http, sandbox, token, self._homes, self.later)


class SandboxCalls:
    """Calls one sandbox. Failures are raised as `RPCError`."""

    def __init__(
        self,
        http: httpx2.AsyncClient,
        sandbox: Sandbox,
        token: str,
        homes: "OrderedDict[str, str]",
        later: Callable[[Coroutine[Any, Any, None]], None],
    ) -> None:
        self.sandbox = sandbox
        self.later = later
        self._http = http
        self._headers = {"Authorization": f"Bearer {token}"}
        self._homes = homes

    async def home(self) -> str:
        """The home of the sandbox's agent."""
        if self.sandbox.id not in self._homes:
            answer = await self._answer("GET", "/v1/sandbox", {})
            told = answer.get("home_dir")
            usable = isinstance(told, str) and told.startswith("/") and len(told) <= MAX_HOME
            _keep(self._homes, self.sandbox.id, str(told) if usable else "/home/gem")
        return self._homes[self.sandbox.id]

    async def call(self, method: str, path: str, fields: Mapping[str, Any] | None = None) -> Any:
        """The `data` of an operation's answer."""
        return (await self._answer(method, path, fields or {})).get("data")

    async def _answer(self, method: str, path: str, fields: Mapping[str, Any]) -> dict[str, Any]:
        headers, sent = _fields(fields) if method == "POST" else ({}, {"params": dict(fields)})
        async with self.stream(method, path, headers, **sent) as response:
            return await read_answer(response)

    async def events(self, path: str, fields: Mapping[str, Any] | None = None) -> AsyncIterator[tuple[str, dict[str, Any]]]:
        """Name and data of each event that an operation streams. With fields it is a POST."""
        headers, sent = ({}, {}) if fields is None else _fields(fields)
        headers |= {"Accept": "text/event-stream"}
        timeout = httpx2.Timeout(None, connect=CONNECT_SECONDS)
        async with self.stream("GET" if fields is None else "POST", path, headers, timeout=timeout, **sent) as response:
            name = ""
            async for line in _lines(response):
                key, _, value = line.partition(b": ")
                if key == b"event":
                    name = value.decode("ascii", "replace")
                elif key == b"data":
                    yield name, _parsed(value)

    @asynccontextmanager
    async def stream(self, method: str, path: str, headers: Mapping[str, str], **sent: Any) -> AsyncIterator[httpx2.Response]:
        """An answer that is read in pieces; one that is a failure is raised."""
        address = f"{self.sandbox.address}{path}"
        request = self._http.build_request(method, address, headers={**headers, **self._headers, "Accept-Encoding": "identity"}, **sent)
        try:
            response = await self._http.send(request, stream=True)
        except httpx2.HTTPError as error:
            raise lost(error) from error
        try:
            if response.status_code >= 400:
                await read_answer(response)
            yield response
        except httpx2.HTTPError as error:
            raise lost(error) from error
        finally:
            await response.aclose()


def _fields(fields: Mapping[str, Any]) -> tuple[dict[str, str], dict[str, Any]]:
    """Headers and body of an operation's fields, in ASCII: bytes that are no text are surrogates in it."""
    return {"Content-Type": "application/json"}, {"content": json.dumps(dict(fields)).encode()}


def lost(error: Exception) -> RPCError:
    """What a caller is told where the sandbox does not answer."""
    if isinstance(error, httpx2.ConnectError | httpx2.ConnectTimeout):
        return RPCError("unavailable", "port is not open: the sandbox runs, and does not answer")
    return RPCError("unavailable", f"the connection to the sandbox ended: {error or type(error).__name__}")


async def _whole(response: httpx2.Response) -> bytes:
    """A body that fits into memory. It is not decompressed: none was asked for."""
    body = bytearray()
    async for chunk in response.aiter_raw():
        body += chunk
        if len(body) > MAX_ANSWER:
            raise RPCError("internal", f"the sandbox answered with more than {MAX_ANSWER} bytes")
    return bytes(body)


async def _lines(response: httpx2.Response) -> AsyncIterator[bytes]:
    buffer = bytearray()
    async for chunk in response.aiter_raw():
        first, *others = chunk.split(b"\n")
        buffer += first
        for part in others:
            yield bytes(buffer).rstrip(b"\r")
            buffer = bytearray(part)
        if len(buffer) > MAX_ANSWER:
            raise RPCError("internal", "the sandbox sent an event that is too long")


def _parsed(content: bytes) -> dict[str, Any]:
    try:
        value = json.loads(content)
    except (ValueError, RecursionError):
        raise RPCError("internal", "the sandbox sent something that is no JSON") from None
    return value if isinstance(value, dict) else {"data": value}


async def read_answer(response: httpx2.Response) -> dict[str, Any]:
    """An answer in the sandbox's envelope. Raises `RPCError` where it says that the operation failed."""
    status, content = response.status_code, await _whole(response)
    try:
        answer = _parsed(content)
    except RPCError:
        if status < 400:
            raise
        answer = {}
    data = answer.get("data")
    kind = data.get("error_type") if isinstance(data, dict) else None
    if status < 400 and answer.get("success", True):
        return answer
    message = str(answer.get("message") or answer.get("detail") or f"the sandbox answered {status}")[:2000]
    code = _FILE_CODES.get(str(kind), "internal") if kind else _CODES.get(status, "internal")
    raise RPCError(code, message)


async def _tried(work: Coroutine[Any, Any, None]) -> None:
    with suppress(RPCError, TimeoutError):
        async with asyncio.timeout(LATER_SECONDS):
            await work


def _keep(kept: "OrderedDict[str, Any]", key: str, value: Any) -> None:
    kept[key] = value
    kept.move_to_end(key)
    while len(kept) > KEPT:
        kept.popitem(last=False)
