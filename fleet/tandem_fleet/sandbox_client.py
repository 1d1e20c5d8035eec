"""Calls of a sandbox's own API by the fleet. What a sandbox answers is not trusted: it is bounded in time and size."""

import asyncio
import json
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import httpx2

from tandem_fleet.errors import SandboxFailedError
from tandem_fleet.printable import printable
from tandem_fleet.sandbox_http import sandbox_http, says_ready
from tandem_fleet.sandboxes import Sandbox
from tandem_fleet.signing_key import SigningKey

CALLER = "fleet"
CALL_SECONDS = 10.0
TOKEN_SECONDS = 900
ANSWER_BYTES = 1 << 20
POLL_SECONDS = 0.1


class Refusal(SandboxFailedError):
    """A sandbox answered with an error: `answered` is its status."""

    def __init__(self, said: str, answered: int) -> None:
        super().__init__(said)
        self.answered = answered


class SandboxClient:
    """Calls sandboxes with tokens that the fleet signs."""

    def __init__(self, key: SigningKey) -> None:
        self._key = key
        self.http = sandbox_http(timeout=CALL_SECONDS, limits=httpx2.Limits(max_connections=None, max_keepalive_connections=64))

    def headers(self, sandbox: Sandbox, scope: str) -> dict[str, str]:
        """What a call is sent with."""
        return {"Authorization": f"Bearer {self._key.sign(sandbox.id, CALLER, [scope], TOKEN_SECONDS)}"}

    async def call(
        self,
        sandbox: Sandbox,
        scope: str,
        verb: str,
        path: str,
        body: Any = None,
        *,
        seconds: float = CALL_SECONDS,
    ) -> Any:
        """The answer's JSON, without the envelope. Raises `SandboxFailedError` where there is none."""
        try:
            async with (
                asyncio.timeout(seconds),
                self.http.stream(
                    verb,
                    f"{sandbox.address}{path}",
                    json=body,
                    headers=self.headers(sandbox, scope),
                    timeout=httpx2.Timeout(CALL_SECONDS, read=seconds),
                ) as response,
            ):
                content = await bounded(response)
        except (httpx2.HTTPError, TimeoutError) as error:
            raise SandboxFailedError(f"{sandbox.name} did not answer {verb} {path}: {error or type(error).__name__}") from error
        return read_answer(sandbox, f"{verb} {path}", response.status_code, content)

    @asynccontextmanager
    async def stream(
        self, sandbox: Sandbox, scope: str, verb: str, path: str, seconds: float, **sent: Any
    ) -> AsyncIterator[httpx2.Response]:
        """An answer that is read as it comes. Raises httpx2's errors, and TimeoutError after `seconds`."""
        headers = self.headers(sandbox, scope) | sent.pop("headers", {})
        limits = httpx2.Timeout(CALL_SECONDS, read=seconds, write=seconds)
        async with (
            asyncio.timeout(seconds),
            self.http.stream(verb, f"{sandbox.address}{path}", headers=headers, timeout=limits, **sent) as response,
        ):
            yield response

    async def wait_until_ready(self, sandbox: Sandbox, seconds: float) -> None:
        """Return when a sandbox says that it is ready. Raises `SandboxFailedError` after `seconds`."""
        deadline = time.monotonic() + seconds
        while time.monotonic() < deadline:
            if await says_ready(self.http, sandbox.address, CALL_SECONDS):
                return
            await asyncio.sleep(POLL_SECONDS)
        raise SandboxFailedError(f"{sandbox.name} was not ready within {seconds:g} s")

    async def close(self) -> None:
        """Close the connections."""
        await self.http.aclose()


async def bounded(response: httpx2.Response) -> bytes:
    """An answer's bytes, `ANSWER_BYTES` at most: the rest is not read."""
    content = bytearray()
    async for chunk in response.aiter_bytes():
        content += chunk
        if len(content) > ANSWER_BYTES:
            raise SandboxFailedError(f"the sandbox's answer is over {ANSWER_BYTES} bytes")
    return bytes(content)


def read_answer(sandbox: Sandbox, what: str, status: int, content: bytes) -> Any:
    """What an answer says. Raises `SandboxFailedError` for a refusal, and for what is no JSON."""
    try:
        answer = json.loads(content) if content else None
    except (ValueError, RecursionError) as error:
        said = f"{sandbox.name} answered {what} with {status} and no JSON"
        raise (Refusal(said, status) if status >= 400 else SandboxFailedError(said)) from error
    if status >= 400:
        message = answer.get("message") if isinstance(answer, dict) else None
        raise Refusal(f"{sandbox.name} refused {what} with {status}: {printable(str(message or ''), 300)}", status)
    return answer["data"] if isinstance(answer, dict) and "data" in answer and "success" in answer else answer
