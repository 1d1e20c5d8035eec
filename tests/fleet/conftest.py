"""A fleet with an engine in memory, and a gateway that says that it is ready."""

import asyncio
import uuid
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import suppress
from pathlib import Path

import pytest
from tandem_fleet.fleet import Fleet
from tandem_fleet.signing_key import SigningKey
from tandem_fleet.store.database import Database

from tests.fleet import postgresql
from tests.fleet.answering import Answering, answering
from tests.fleet.engines import MemoryBackend

READY = b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"


@pytest.fixture
async def gateway() -> AsyncIterator[str]:
    """Where every sandbox of the tests answers; it is ready at once."""

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with suppress(asyncio.IncompleteReadError, ConnectionError):  # who asks may end meanwhile
            await reader.readuntil(b"\r\n\r\n")
            writer.write(READY)
            await writer.drain()
        writer.close()

    server = await asyncio.start_server(answer, "127.0.0.1", 0)
    yield f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
    server.close()


@pytest.fixture
async def answers() -> AsyncIterator[Answering]:
    """What every sandbox of the tests says that have its address as their `gateway`."""
    async with answering() as sandbox:
        yield sandbox


@pytest.fixture
def engine(gateway: str) -> MemoryBackend:
    """The engine of these tests."""
    return MemoryBackend(gateway)


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Have what reads and writes the store, and what rests on it, run on both."""
    both = "/".join(metafunc.definition.path.parts[-2:]).startswith(("store/", "api/", "fleet/test_reconciler", "fleet/test_fleet"))
    if "store_url" in metafunc.fixturenames:
        alone = [name for name in ("sqlite", "postgresql") if metafunc.definition.get_closest_marker(name)]
        metafunc.parametrize("store_url", alone or (["sqlite", "postgresql"] if both else ["sqlite"]), indirect=True)


@pytest.fixture(scope="session")
def postgresql_cluster() -> Iterator[Path]:
    """A PostgreSQL for all tests; each has a database of its own."""
    with postgresql.cluster() as folder:
        yield folder


@pytest.fixture
def store_url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """Where the store of these tests is: SQLite, or PostgreSQL where that is installed."""
    if getattr(request, "param", "sqlite") == "sqlite":
        return f"sqlite+aiosqlite:///{tmp_path}/fleet.db"
    if postgresql.PROGRAMS is None:
        pytest.skip("PostgreSQL is not installed")
    return postgresql.database(request.getfixturevalue("postgresql_cluster"), f"t{uuid.uuid4().hex}")


@pytest.fixture
async def database(store_url: str) -> AsyncIterator[Database]:
    """A database with its tables."""
    opened = Database(store_url)
    await opened.prepare()
    yield opened
    await opened.close()


@pytest.fixture
def make_fleet(engine: MemoryBackend, store_url: str, tmp_path: Path) -> Callable[[], Fleet]:
    """A fleet as a process of its own would have it: the same store, the same engine, nothing else."""

    def make() -> Fleet:
        return Fleet(Database(store_url), engine, SigningKey.kept(tmp_path / "key.pem"), "image")

    return make


@pytest.fixture
async def fleet(make_fleet: Callable[[], Fleet]) -> AsyncIterator[Fleet]:
    """A fleet that works."""
    async with make_fleet() as opened:
        yield opened
