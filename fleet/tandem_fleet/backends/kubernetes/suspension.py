"""Halts the programs of a Pod, and lets them go on: an engine that has no call for it leaves that to the sandbox itself."""

import asyncio
import json

import httpx2

from tandem_fleet.errors import EngineError, EngineUnreachableError
from tandem_fleet.sandbox_http import sandbox_http

TRY_SECONDS = 0.2
CALL_SECONDS = 10.0
LONGEST_ANSWER = 64 << 10
"""Bytes: what a sandbox sends is not trusted."""
_NOT_YET = (502, 503, 504)


class Suspension:
    """Calls of sandboxes' gateways."""

    def __init__(self) -> None:
        self._http = sandbox_http(timeout=CALL_SECONDS)

    async def close(self) -> None:
        """Let go of all connections."""
        await self._http.aclose()

    async def suspend(self, address: str, token: str, seconds: float) -> None:
        """Halt its programs, once it answers. Raises `EngineError` where it refuses or does not answer within `seconds`."""
        await self._ask(f"{address}/v1/suspend", token, seconds)

    async def resume(self, address: str, token: str, seconds: float) -> None:
        """Let its programs go on. Raises as `suspend` does."""
        await self._ask(f"{address}/v1/resume", token, seconds)

    async def _ask(self, url: str, token: str, seconds: float) -> None:
        said = "it does not answer"
        try:
            async with asyncio.timeout(seconds):
                while True:
                    status, said = await self._post(url, token)
                    if status == 200:
                        return
                    if status and status not in _NOT_YET:
                        raise EngineError(f"the sandbox refused: {said}")
                    await asyncio.sleep(TRY_SECONDS)
        except TimeoutError as error:
            raise EngineUnreachableError(f"the sandbox does not answer within {seconds:g} s: {said}") from error

    async def _post(self, url: str, token: str) -> tuple[int, str]:
        """The answer's status, 0 where there is none, and what it says."""
        try:
            async with self._http.stream("POST", url, headers={"Authorization": f"Bearer {token}"}, json={}) as response:
                content = b""
                async for piece in response.aiter_bytes():
                    content += piece
                    if len(content) > LONGEST_ANSWER:
                        break
        except httpx2.HTTPError as error:
            return 0, str(error) or type(error).__name__
        return response.status_code, _message(content) or f"HTTP status {response.status_code}"


def _message(content: bytes) -> str:
    try:
        return str(json.loads(content).get("message") or "")[:500]
    except (ValueError, AttributeError):
        return ""
