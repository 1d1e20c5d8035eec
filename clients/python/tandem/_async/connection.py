"""Calls of a sandbox's API."""

import asyncio
import time
from collections.abc import AsyncIterator, Mapping
from types import TracebackType
from typing import Any

import httpx

from tandem import wire
from tandem.errors import ApiError, TandemError, Unreachable, failure


class AsyncConnection:
    """A sandbox at an address.

    `patience` is in seconds: for so long a call waits where a person has control (423), or a limit is reached (429), or a component starts
    (503), in place of raising. What may have been done is never sent again.
    """

    def __init__(
        self, place: wire.Place, patience: float = 0.0, http: httpx.AsyncClient | None = None, *, timeout: float = wire.ANSWER_SECONDS
    ) -> None:
        self.place = place
        self.patience = patience
        self._http = http or httpx.AsyncClient(trust_env=False)
        self._http.base_url = httpx.URL(place.url)
        self._http.headers.update(place.headers)
        self._http.timeout = wire.timeouts(timeout)

    async def __aenter__(self) -> "AsyncConnection":
        return self

    async def __aexit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        await self.aclose()

    async def aclose(self) -> None:
        """Close its connections."""
        await self._http.aclose()

    async def request(
        self,
        verb: str,
        path: str,
        *,
        query: Mapping[str, Any] | None = None,
        body: Mapping[str, Any] | None = None,
        content: bytes | None = None,
        form: bool = False,
    ) -> httpx.Response:
        """Send a request until it is answered, as far as patience goes. Raises ApiError and Unreachable."""
        given = wire.arguments(query, body, content, form=form)
        patience = wire.Patience(self.patience)
        while True:
            try:
                response = await self._http.request(verb, path, **given)
            except httpx.TransportError as error:
                raise Unreachable(f"{self.place.url} does not answer: {error or type(error).__name__}") from error
            try:
                return wire.checked(response)
            except ApiError as error:
                if (waits := patience.wait_for_control(error)) is not None:
                    given["params"] = {**given["params"], "wait": f"{waits:g}"}
                elif (pause := patience.pause(error)) is not None:
                    await asyncio.sleep(pause)
                else:
                    raise

    async def call(self, verb: str, path: str, kind: Any, **sent: Any) -> Any:
        """Call an operation; the data of its answer, as its type. `sent` is what `request` takes."""
        return wire.parsed(wire.data_of(await self.request(verb, path, **sent)), kind)

    async def whole(self, verb: str, path: str, kind: Any, **sent: Any) -> Any:
        """Call an operation whose answer has no envelope; all of it, as its type."""
        return wire.parsed(wire.body_of(await self.request(verb, path, **sent)), kind)

    async def text(self, verb: str, path: str, **sent: Any) -> str:
        """Call an operation that answers text."""
        return (await self.request(verb, path, **sent)).text

    async def read(self, verb: str, path: str, **sent: Any) -> bytes:
        """Call an operation that answers bytes."""
        return (await self.request(verb, path, **sent)).content

    async def stream(
        self,
        verb: str,
        path: str,
        *,
        query: Mapping[str, Any] | None = None,
        body: Mapping[str, Any] | None = None,
        last: tuple[str, ...] = (),
    ) -> AsyncIterator[wire.Event]:
        """Events, until one that is named in `last`. Where the connection breaks it goes on behind the event that came last.

        With `last` that is tried for two minutes without an answer at most.

        What changes something is sent again only with the id of an event that it has sent: the server then does not do it again.
        """
        events, attempt, heard = wire.Events(), 0, time.monotonic()
        given = wire.arguments(query, body, None, form=False)
        patience = wire.Patience(self.patience)
        while True:
            events.begin()
            headers = {"Accept": "text/event-stream", **({"Last-Event-ID": events.last} if events.last else {})}
            try:
                async with self._http.stream(verb, path, headers=headers, timeout=wire.timeouts(wire.SILENCE_SECONDS), **given) as response:
                    if not response.is_success:
                        await response.aread()
                        raise failure(response.status_code, wire.body_of(response), response.headers)
                    async for line in response.aiter_lines():
                        attempt, heard = 0, time.monotonic()
                        if (event := events.take(line)) is not None:
                            yield event
                            if event.name in last:
                                return
            except httpx.TransportError as error:
                if (verb != "GET" and not events.last) or (last and time.monotonic() - heard > wire.AWAY_SECONDS):
                    raise Unreachable(f"{self.place.url} does not answer: {error or type(error).__name__}") from error
            except ApiError as error:
                if not events.last and (waits := patience.wait_for_control(error)) is not None:
                    given["params"] = {**given["params"], "wait": f"{waits:g}"}
                    continue
                if not events.last and (pause := patience.pause(error)) is not None:
                    await asyncio.sleep(pause)
                    continue
                if error.retry_after is None or (verb != "GET" and not events.last):
                    raise
            if verb != "GET" and not events.last:
                raise TandemError("the stream ended before its first event")
            await asyncio.sleep(wire.pauses(attempt))
            attempt += 1
