"""What is asked of a sandbox, which may answer anything."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import suppress

import pytest
from tandem_fleet.backends.kubernetes.suspension import LONGEST_ANSWER, Suspension
from tandem_fleet.errors import EngineError, EngineUnreachableError
from tandem_fleet.signing_key import SigningKey

from tests.fleet.backends.kubernetes.api_server import until
from tests.fleet.backends.kubernetes.conftest import Gateway

pytestmark = pytest.mark.anyio


@pytest.fixture
async def suspension() -> AsyncIterator[Suspension]:
    opened = Suspension()
    yield opened
    await opened.close()


@pytest.fixture
def token(key: SigningKey) -> str:
    return key.sign("a1", "fleet", {"shell"}, 60)


async def test_it_is_asked_to_halt_and_to_go_on(suspension: Suspension, pods: Gateway, token: str) -> None:
    await suspension.suspend(f"http://{pods.address}:8080", token, 60)
    await suspension.resume(f"http://{pods.address}:8080", token, 60)
    assert pods.asked == [("/v1/suspend", "a1"), ("/v1/resume", "a1")]


@pytest.mark.parametrize("answer", ['{"message": "no box"}', "x", "[]", '{"message": null}', "y" * 2 * LONGEST_ANSWER])
async def test_a_refusal_is_said(answer: str, suspension: Suspension, pods: Gateway, token: str) -> None:
    pods.answer = (409, answer)
    with pytest.raises(EngineError, match=r"the sandbox refused: (no box|HTTP status 409)"):
        await suspension.suspend(f"http://{pods.address}:8080", token, 60)


async def test_one_that_starts_is_waited_for(suspension: Suspension, pods: Gateway, token: str) -> None:
    pods.answer = (503, "")
    asked = asyncio.create_task(suspension.suspend(f"http://{pods.address}:8080", token, 60))
    await until(lambda: len(pods.asked) >= 2)
    pods.answer = (200, "{}")
    await asked


@pytest.mark.parametrize("address", ["http://127.0.0.1:9", ""])
async def test_one_that_does_not_answer_is_given_up(address: str, suspension: Suspension, token: str) -> None:
    with pytest.raises(EngineUnreachableError, match=r"within 0\.3 s"):
        await suspension.suspend(address, token, 0.3)


async def test_one_that_answers_a_byte_at_a_time_is_given_up(suspension: Suspension, token: str) -> None:
    async def drip(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: 100000\r\n\r\n")
        with suppress(ConnectionError):
            while not writer.is_closing():  # uvloop raises nothing
                writer.write(b" ")
                await writer.drain()
                await asyncio.sleep(0.01)
        writer.close()
        ended.set()

    ended = asyncio.Event()
    server = await asyncio.start_server(drip, "127.0.0.1", 0)
    with pytest.raises(EngineUnreachableError):
        await suspension.suspend(f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}", token, 0.5)
    await suspension.close()
    await ended.wait()
    server.close()
