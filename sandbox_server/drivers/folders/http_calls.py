"""Requests of a store over HTTP. What goes wrong is a StoreAwayError, whose text has nothing of the answer."""

import ssl
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from typing import IO, TYPE_CHECKING

from sandbox_server.core.tasks import in_thread
from sandbox_server.drivers.folders.version import DamagedError, StoreAwayError

if TYPE_CHECKING:
    import httpx2

CONNECT_SECONDS = 5.0
SECONDS = 30.0
"""Seconds without a byte after which a request is given up."""
PIECE = 1 << 20


@asynccontextmanager
async def answer_of(
    method: str, url: str, headers: Mapping[str, str], content: AsyncIterator[bytes] | None = None
) -> AsyncIterator["httpx2.Response"]:
    """Send a request, and yield its answer, whose content was not read. No redirect is followed."""
    import httpx2  # a slow import, which few sandboxes need

    seconds = httpx2.Timeout(SECONDS, connect=CONNECT_SECONDS)
    try:
        async with (
            httpx2.AsyncClient(timeout=seconds, follow_redirects=False, trust_env=False, verify=ssl.create_default_context()) as client,
            client.stream(method, url, headers=dict(headers), content=content) as answer,
        ):
            yield answer
    except httpx2.InvalidURL:
        raise StoreAwayError("the store's address is no URL") from None
    except httpx2.HTTPError as error:
        raise StoreAwayError(f"the store does not answer: {type(error).__name__}") from None


async def pieces_of(file: IO[bytes]) -> AsyncIterator[bytes]:
    """Yield a file from where it stands to its end."""
    while piece := await in_thread(file.read, PIECE):
        yield piece


async def save(answer: "httpx2.Response", path: str, limit: int, what: str) -> None:
    """Write an answer's content to a new file. Raises DamagedError above `limit` bytes."""
    got = 0
    with await in_thread(open, path, "xb") as file:
        async for piece in answer.aiter_raw():
            got += len(piece)
            if got > limit:
                raise DamagedError(f"{what} has more than {limit} bytes")
            await in_thread(file.write, piece)
