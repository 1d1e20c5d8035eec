"""What is put into sandboxes before they are ready, in the store until it is done."""

from typing import Any

from sqlalchemy import delete, select

from tandem_fleet.store.database import Database, whole
from tandem_fleet.store.tables import preparations


class PreparationStore:
    """The preparations of all sandboxes. `SandboxStore` adds them together with the sandbox."""

    def __init__(self, database: Database) -> None:
        self.database = database

    @whole
    async def of(self, sandbox: str) -> dict[str, Any] | None:
        """What is still to be put into a sandbox; None where nothing is."""
        async with self.database.reading() as connection:
            found = await connection.execute(select(preparations.c.work).where(preparations.c.sandbox == sandbox))
            work: dict[str, Any] | None = found.scalar_one_or_none()
            return work

    @whole
    async def snapshots(self) -> set[str]:
        """The snapshots that are still to be put into sandboxes."""
        async with self.database.reading() as connection:
            works = (await connection.execute(select(preparations.c.work))).scalars().all()
        return {work["snapshot"] for work in works if work.get("snapshot")}

    @whole
    async def done(self, sandbox: str) -> None:
        """Forget it."""
        async with self.database.writing() as connection:
            await connection.execute(delete(preparations).where(preparations.c.sandbox == sandbox))
