"""Which of several services on one PostgreSQL reconciles: the one whose connection holds an advisory lock.

A lock ends with its connection. So a service that was killed leads no longer, and another one does within a second or two. On SQLite there
is one service, which the file lock of its folder sees to.
"""

import asyncio
import logging
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager

from sqlalchemy import text
from sqlalchemy.exc import SQLAlchemyError
from sqlalchemy.ext.asyncio import AsyncConnection

from tandem_fleet.errors import FleetError
from tandem_fleet.metrics import LEADS
from tandem_fleet.store.database import Database, whole

LOCK = 0x74616E64656F
CHECK_SECONDS = 1.0
"""How often it asks for the lock, or whether its connection still stands."""
ANSWER_SECONDS = 5.0
"""How long the database may take to answer before another one may lead."""
KEEPALIVE = ("tcp_keepalives_idle = 2", "tcp_keepalives_interval = 1", "tcp_keepalives_count = 3")
"""Have PostgreSQL find out soon that a host is gone which did not say so."""
Lead = Callable[[], AbstractAsyncContextManager[None]]
_log = logging.getLogger(__name__)


class Leadership:
    """The lock of one service."""

    def __init__(self, database: Database) -> None:
        self.database = database
        self.leads = False
        self._connection: AsyncConnection | None = None

    @whole
    async def acquire(self) -> bool:
        """Take the lock if nobody has it. Gives whether this service has it now."""
        if self._connection is None:
            self._connection = await self.database.connect_alone()
            for setting in KEEPALIVE:
                await self._connection.execute(text(f"SET {setting}"))
        return bool((await self._connection.execute(text("SELECT pg_try_advisory_lock(:lock)"), {"lock": LOCK})).scalar_one())

    @whole
    async def check(self) -> None:
        """Return if the connection still stands, and the lock with it."""
        assert self._connection
        await self._connection.execute(text("SELECT 1"))

    @whole
    async def release(self) -> None:
        """Let another one have the lock."""
        connection, self._connection = self._connection, None
        if connection:
            try:
                await connection.execute(text("SELECT pg_advisory_unlock_all()"))
            except (SQLAlchemyError, OSError):
                await connection.invalidate()  # it may stand, and hold the lock
            finally:
                await connection.close()

    async def run(self, lead: Lead) -> None:
        """Lead whenever nobody else does, without end."""
        while True:
            try:
                await self._wait()
                async with lead():
                    self._set(True)
                    _log.warning("this service leads the fleet")
                    await self._stay()
            except (SQLAlchemyError, OSError, FleetError, ValueError):
                _log.exception("this service does not lead the fleet")
            finally:
                self._set(False)
                await self._let_go()
            await asyncio.sleep(CHECK_SECONDS)

    async def _let_go(self) -> None:
        try:
            await self.release()
        except (SQLAlchemyError, OSError) as error:
            _log.warning("the connection with the lock did not close: %s", error)

    def _set(self, leads: bool) -> None:
        self.leads = leads
        LEADS.set(leads)

    async def _wait(self) -> None:
        while True:
            async with asyncio.timeout(ANSWER_SECONDS):
                if await self.acquire():
                    return
            await asyncio.sleep(CHECK_SECONDS)

    async def _stay(self) -> None:
        while True:
            await asyncio.sleep(CHECK_SECONDS)
            async with asyncio.timeout(ANSWER_SECONDS):
                await self.check()


@asynccontextmanager
async def leading(database: Database, lead: Lead) -> AsyncIterator[Leadership]:
    """Have `lead()` be entered while this service leads, until the block ends. On SQLite it leads from the beginning."""
    leadership = Leadership(database)
    if database.dialect != "postgresql":
        async with lead():
            leadership._set(True)
            yield leadership
        return
    contending = asyncio.create_task(leadership.run(lead))
    try:
        yield leadership
    finally:
        contending.cancel()
        await asyncio.gather(contending, return_exceptions=True)
