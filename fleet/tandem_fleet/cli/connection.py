"""How the command line reaches the service: at its URL, on its socket, or by serving it itself for as long as the command takes."""

import asyncio
import contextlib
import time
from collections.abc import AsyncIterator
from typing import Any

import httpx2

from tandem_fleet.errors import ConflictError, EngineUnreachableError, FleetError
from tandem_fleet.settings import Settings

CALL_SECONDS = 660.0
OPEN_SECONDS = 30.0
"""How long another command on the same fleet is waited for."""


class Refused(FleetError):
    """The service's refusal, in its words."""


@contextlib.asynccontextmanager
async def connected(settings: Settings) -> AsyncIterator["Connection"]:
    """A connection to the fleet's service."""
    if settings.url:
        headers = {"Authorization": f"Bearer {settings.key}"} if settings.key else {}
        async with httpx2.AsyncClient(base_url=settings.url, headers=headers, timeout=CALL_SECONDS) as http:
            yield Connection(http)
        return
    async with contextlib.AsyncExitStack() as stack:
        await _open(settings, stack)
        transport = httpx2.AsyncHTTPTransport(uds=str(settings.socket))
        http = await stack.enter_async_context(httpx2.AsyncClient(base_url="http://fleet", transport=transport, timeout=CALL_SECONDS))
        yield Connection(http)


async def _open(settings: Settings, stack: contextlib.AsyncExitStack) -> None:
    """Return when the service answers on its socket: another process's, or our own, which ends with the command."""
    if await _answers(settings):
        return
    from tandem_fleet.api.service import serving  # two seconds of imports, which a service that runs has behind it

    deadline = time.monotonic() + OPEN_SECONDS
    while True:
        try:
            await stack.enter_async_context(serving(settings))
        except ConflictError:
            if await _answers(settings):
                return
            if time.monotonic() > deadline:
                raise
            await asyncio.sleep(0.05)
        else:
            return


async def _answers(settings: Settings) -> bool:
    if not settings.socket.exists():
        return False
    async with httpx2.AsyncClient(transport=httpx2.AsyncHTTPTransport(uds=str(settings.socket)), timeout=5) as http:
        try:
            return (await http.get("http://fleet/healthz")).status_code == 200
        except httpx2.HTTPError:
            return False


class Connection:
    """Calls of the service."""

    def __init__(self, http: httpx2.AsyncClient) -> None:
        self._http = http

    async def call(self, verb: str, path: str, body: Any = None, **query: Any) -> Any:
        """What the service answers. Raises `Refused` with its words, `EngineUnreachableError` where it does not answer."""
        given = {name: value for name, value in query.items() if value is not None}
        try:
            response = await self._http.request(verb, path, json=body, params=given)
        except httpx2.HTTPError as error:
            raise EngineUnreachableError(f"the service does not answer: {error or type(error).__name__}") from error
        return _answer(response)

    async def lines(self, path: str, **query: Any) -> AsyncIterator[str]:
        """A text that the service goes on sending, line by line."""
        async with self._http.stream("GET", path, params=query, timeout=None) as response:
            if response.status_code != 200:
                await response.aread()
                _answer(response)
            async for line in response.aiter_lines():
                yield line


def _answer(response: httpx2.Response) -> Any:
    if response.status_code == 204:
        return None
    try:
        answer = response.json()
    except ValueError as error:
        raise Refused(f"the service answered {response.status_code} and no JSON") from error
    if response.status_code >= 400:
        raise Refused(answer.get("error", {}).get("message", f"the service answered {response.status_code}"))
    return answer
