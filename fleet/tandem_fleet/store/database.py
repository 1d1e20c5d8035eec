"""The database: SQLite in a file, or PostgreSQL. Each area of the fleet has a module beside this one that reads and writes its tables."""

import asyncio
import functools
from collections.abc import AsyncIterator, Callable, Coroutine, Iterator
from contextlib import asynccontextmanager, contextmanager, suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Concatenate, ParamSpec, Protocol, TypeVar

import alembic.command
import alembic.config
from alembic.runtime.migration import MigrationContext
from sqlalchemy import Connection, event, text
from sqlalchemy.ext.asyncio import AsyncConnection, AsyncEngine, create_async_engine

from tandem_fleet.metrics import TRANSACTIONS, timed

P = ParamSpec("P")
T = TypeVar("T")
MIGRATION_LOCK = 0x74616E64656E
"""PostgreSQL's advisory lock of who changes the tables: services that start at once do so one after the other."""


class Database:
    """Connections and transactions. One process at a time may hold a SQLite file open for the fleet."""

    def __init__(self, url: str) -> None:
        self._engine = _open(url)
        self._turn = asyncio.Lock() if self._engine.dialect.name == "sqlite" else None
        self._news = asyncio.Condition()
        self._changes = 0
        self._watched: dict[str, set[asyncio.Event]] = {}
        self._running: set[asyncio.Task[Any]] = set()

    @property
    def dialect(self) -> str:
        """`sqlite` or `postgresql`."""
        return self._engine.dialect.name

    def begin(self, work: Coroutine[Any, Any, T]) -> asyncio.Task[T]:
        """Start work that `close` waits for."""
        task = asyncio.create_task(work)
        self._running.add(task)
        task.add_done_callback(self._running.discard)
        task.add_done_callback(lambda ended: ended.cancelled() or ended.exception())
        return task

    async def prepare(self) -> None:
        """Bring the tables to this version's form."""

        async def upgrade() -> None:
            async with self.writing() as connection:
                if self.dialect == "postgresql":
                    await connection.execute(text("SELECT pg_advisory_xact_lock(:lock)"), {"lock": MIGRATION_LOCK})
                await connection.run_sync(migrate)

        await asyncio.shield(self.begin(upgrade()))

    async def close(self) -> None:
        """Close every connection, once nothing is written or read any more."""
        await asyncio.gather(*self._running, return_exceptions=True)
        await self._engine.dispose()

    @asynccontextmanager
    async def reading(self) -> AsyncIterator[AsyncConnection]:
        """A connection that changes nothing."""
        with timed(TRANSACTIONS.labels("reading")):
            async with self._engine.connect() as connection:
                yield connection

    @asynccontextmanager
    async def writing(self) -> AsyncIterator[AsyncConnection]:
        """A transaction. In SQLite one at a time, as it answers two writers with an error."""
        with timed(TRANSACTIONS.labels("writing")):
            async with self._turn or _no_turn(), self._engine.begin() as connection:
                if self._turn:
                    await connection.execute(text("BEGIN IMMEDIATE"))  # so that tables are made in the transaction, too
                yield connection

    @asynccontextmanager
    async def snapshot(self) -> AsyncIterator[AsyncConnection]:
        """A connection that sees the store as it was at one moment, while others write."""
        async with self._engine.connect() as connection:
            if self.dialect == "postgresql":
                await connection.execution_options(isolation_level="REPEATABLE READ")
            else:
                await connection.execute(text("BEGIN"))
            yield connection

    async def connect_alone(self) -> AsyncConnection:
        """A connection that its caller closes, without transactions: for what lasts as long as it stands."""
        connection = await self._engine.connect()
        return await connection.execution_options(isolation_level="AUTOCOMMIT")

    @property
    def changes(self) -> int:
        """How many changes this process made. Read it before you look, and give it to `wait_for_change`."""
        return self._changes

    async def announce(self, what: str = "") -> None:
        """Wake who waits for a change, after a transaction that made one: of the sandbox `what`, where it is one's."""
        for news in self._watched.get(what, ()):
            news.set()
        async with self._news:
            self._changes += 1
            self._news.notify_all()

    @contextmanager
    def watching(self, sandbox: str) -> Iterator[asyncio.Event]:
        """An event that is set when this process has changed a sandbox. Who waits for one is not woken by the others."""
        news = asyncio.Event()
        self._watched.setdefault(sandbox, set()).add(news)
        try:
            yield news
        finally:
            self._watched[sandbox].discard(news)
            if not self._watched[sandbox]:
                del self._watched[sandbox]

    async def wait_for_change(self, seen: int, seconds: float) -> None:
        """Return when this process has changed something since `changes` was `seen`, or after some seconds: another process may have."""
        with suppress(TimeoutError):
            async with asyncio.timeout(seconds), self._news:
                await self._news.wait_for(lambda: self._changes > seen)


class Stored(Protocol):
    """What reads and writes tables."""

    database: Database


def whole(method: Callable[Concatenate[Any, P], Coroutine[Any, Any, T]]) -> Callable[Concatenate[Any, P], Coroutine[Any, Any, T]]:
    """Have a method go on to its end when its caller is cancelled: a transaction that is cut leaves a connection open."""

    @functools.wraps(method)
    async def run(store: Stored, /, *arguments: P.args, **named: P.kwargs) -> T:
        return await asyncio.shield(store.database.begin(method(store, *arguments, **named)))

    return run


def aware(at: datetime) -> datetime:
    """SQLite keeps no time zone: what it keeps is UTC."""
    return at if at.tzinfo else at.replace(tzinfo=UTC)


@asynccontextmanager
async def _no_turn() -> AsyncIterator[None]:
    yield


def _open(url: str) -> AsyncEngine:
    engine = create_async_engine(url)
    if engine.dialect.name == "sqlite":

        @event.listens_for(engine.sync_engine, "connect")
        def _configure(connection: Any, _: Any) -> None:
            for statement in ("PRAGMA journal_mode=WAL", "PRAGMA synchronous=FULL", "PRAGMA busy_timeout=10000", "PRAGMA secure_delete=ON"):
                connection.execute(statement)

    return engine


def revision(connection: Connection) -> str:
    """The newest migration that has been run."""
    return str(MigrationContext.configure(connection).get_current_revision())


def migrate(connection: Connection, target: str = "head") -> None:
    """Bring the tables to the form of a migration, of this version's newest unless said otherwise."""
    config = alembic.config.Config()
    config.set_main_option("script_location", str(Path(__file__).with_name("migrations")))
    config.attributes["connection"] = connection
    alembic.command.upgrade(config, target)
