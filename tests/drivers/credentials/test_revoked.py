"""Who was signed out is out at once, and for as long as their session would have lasted."""

import asyncio
from pathlib import Path

import pytest

from sandbox_server.core.errors import ResourceExhausted
from sandbox_server.drivers.credentials.revoked import MAX_REVOKED, Revoked
from sandbox_server.drivers.storage.json_file import JsonFile

pytestmark = pytest.mark.anyio


@pytest.fixture
def file(tmp_path: Path) -> JsonFile:
    return JsonFile(str(tmp_path / "revoked.json"))


async def test_a_name_that_is_out_stays_out_in_the_next_process(file: JsonFile) -> None:
    revoked = Revoked(file, 60)
    assert not revoked.holds("ann#1")
    revoked.add("ann#1")
    assert (revoked.holds("ann#1"), revoked.holds("ann#2"), Revoked(file, 60).holds("ann#1")) == (True, False, True)


async def test_a_name_is_forgotten_when_its_session_would_have_ended(file: JsonFile) -> None:
    seconds = [1000.0]
    revoked = Revoked(file, 60, lambda: seconds[0])
    revoked.add("ann#1")
    seconds[0] = 1061.0
    assert not revoked.holds("ann#1")


async def test_whoever_waits_for_the_end_is_told(file: JsonFile) -> None:
    revoked = Revoked(file, 60)
    waiting = [asyncio.create_task(revoked.end_of("ann#1")) for _ in range(2)]
    await asyncio.sleep(0)
    revoked.add("ann#1")
    async with asyncio.timeout(30):
        await asyncio.gather(*waiting, revoked.end_of("ann#1"))


async def test_there_is_an_end_to_how_many_are_kept(file: JsonFile) -> None:
    file.write({f"ann#{number}": 4e9 for number in range(MAX_REVOKED)})
    with pytest.raises(ResourceExhausted):
        Revoked(file, 60).add("one more#1")


async def test_what_was_read_is_forgotten_and_who_waits_is_told(file: JsonFile) -> None:
    revoked = Revoked(file, 60)
    revoked.add("ann#1")
    waiting = asyncio.create_task(revoked.end_of("tom#1"))
    await asyncio.sleep(0)
    file.write({})
    revoked.forget()
    async with asyncio.timeout(30):
        await waiting
    assert not revoked.holds("ann#1")
