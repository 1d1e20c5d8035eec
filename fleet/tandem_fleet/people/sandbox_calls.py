"""Calls of sandboxes on behalf of people. What a sandbox answers is bounded in size and time, whatever it sends."""

import asyncio
from collections.abc import AsyncIterator, Collection, Mapping
from contextlib import aclosing, asynccontextmanager
from dataclasses import dataclass
from typing import Any

import httpx2

from tandem_fleet.people.answers import UnusableAnswer, parsed, plain
from tandem_fleet.people.event_stream import paced, read_events
from tandem_fleet.sandbox_http import sandbox_http
from tandem_fleet.sandboxes import Sandbox
from tandem_fleet.signing_key import SigningKey

CALL_SECONDS = 5.0
SILENT_SECONDS = 60.0
"""How long a stream may send nothing, not even the comments that keep it."""
TOKEN_SECONDS = 3600
MOST_BYTES = 256 << 10
"""Of an answer."""
WATCHER = "fleet-wall"
"""The name under which sandboxes know who looks for the wall."""


@dataclass(frozen=True)
class Answer:
    """What a sandbox answered."""

    status: int
    headers: Mapping[str, str]
    content: bytes

    @property
    def message(self) -> str:
        """What it says of a refusal, in a line."""
        try:
            told = parsed(self.content)
        except UnusableAnswer:
            told = None
        return plain(told.get("message") if isinstance(told, Mapping) else None) or f"the sandbox answered {self.status}"


class SandboxCalls:
    """Connections to sandboxes, each call with a token for that sandbox alone. It counts as a person's, and is no use of the sandbox."""

    def __init__(self, key: SigningKey) -> None:
        self._key = key
        self._opened: httpx2.AsyncClient | None = None

    @property
    def _http(self) -> httpx2.AsyncClient:
        if self._opened is None:
            limits = httpx2.Limits(max_connections=None, max_keepalive_connections=256)
            self._opened = sandbox_http(timeout=CALL_SECONDS, limits=limits)
        return self._opened

    async def close(self) -> None:
        """Close all connections."""
        if self._opened:
            await self._opened.aclose()
            self._opened = None

    def token(self, sandbox: Sandbox, scopes: Collection[str], person: str = WATCHER) -> str:
        """A token of a person for one sandbox."""
        return self._key.sign(sandbox.id, person, scopes, TOKEN_SECONDS, person=True)

    async def call(
        self,
        sandbox: Sandbox,
        verb: str,
        path: str,
        *,
        scopes: Collection[str] = ("view",),
        person: str = WATCHER,
        body: Any = None,
        headers: Mapping[str, str] | None = None,
    ) -> Answer:
        """One call. Raises `UnusableAnswer`."""
        sent = {"Authorization": f"Bearer {self.token(sandbox, scopes, person)}", "Accept-Encoding": "identity"} | dict(headers or {})
        try:
            async with (
                asyncio.timeout(CALL_SECONDS),
                self._http.stream(verb, f"{sandbox.address}{path}", json=body, headers=sent) as response,
            ):
                content = b""
                async for chunk in response.aiter_raw():
                    content += chunk
                    if len(content) > MOST_BYTES:
                        raise UnusableAnswer("the sandbox answered with too much")
                return Answer(response.status_code, {name.lower(): value for name, value in response.headers.items()}, content)
        except (httpx2.HTTPError, httpx2.InvalidURL, OSError, ValueError) as error:
            raise UnusableAnswer(str(error) or "the sandbox does not answer") from error

    @asynccontextmanager
    async def follow(self, sandbox: Sandbox, path: str) -> AsyncIterator[AsyncIterator[tuple[str, bytes]]]:
        """The events of a stream, until it breaks. Raises `UnusableAnswer` where there is none."""
        headers = {"Authorization": f"Bearer {self.token(sandbox, ['view'])}", "Accept": "text/event-stream", "Accept-Encoding": "identity"}
        timeout = httpx2.Timeout(CALL_SECONDS, read=SILENT_SECONDS)
        try:
            async with self._http.stream("GET", f"{sandbox.address}{path}", headers=headers, timeout=timeout) as response:
                if response.status_code != 200 or not response.headers.get("content-type", "").startswith("text/event-stream"):
                    raise UnusableAnswer(f"the sandbox answered {response.status_code}")
                async with aclosing(read_events(paced(response.aiter_raw()))) as events:
                    yield events
        except (httpx2.HTTPError, httpx2.InvalidURL, OSError, ValueError) as error:
            raise UnusableAnswer(str(error) or "the sandbox does not answer") from error
