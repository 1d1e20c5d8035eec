"""People in the store: tickets that sign a browser in, its sessions, and who has claimed what is asked.

Tickets and sessions are kept as hashes: who reads the store signs in as nobody.
"""

import hashlib
import secrets
from collections.abc import Collection
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from sqlalchemy import RowMapping, delete, insert, select, update
from sqlalchemy.exc import IntegrityError
from sqlalchemy.ext.asyncio import AsyncConnection

from tandem_fleet.errors import ConflictError, NotFoundError, UnauthorizedError
from tandem_fleet.store.database import Database, aware, whole
from tandem_fleet.store.tables import claims, sessions, tenants, tickets

TICKET = timedelta(seconds=30)
SESSION = timedelta(hours=12)
CLAIM = timedelta(minutes=15)
"""How long a claim holds that is not renewed."""
MOST_SESSIONS = 1000
"""Sessions of a tenant; the one that ends first makes room."""


@dataclass(frozen=True)
class Session:
    """A signed-in browser."""

    number: str
    """Its hash, by which it is known in the store."""
    tenant: str
    person: str
    scopes: frozenset[str]
    account: str = ""
    """The subject at the identity provider; empty of a session that a link began."""


@dataclass(frozen=True)
class Claim:
    """Who is at what is asked, and until when."""

    question: str
    person: str
    session: str
    ends_at: datetime


class PeopleStore:
    """The people of all tenants."""

    def __init__(self, database: Database) -> None:
        self.database = database

    @whole
    async def make_ticket(self, tenant: str, person: str, scopes: Collection[str]) -> str:
        """A ticket that begins one session within half a minute."""
        ticket, now = secrets.token_urlsafe(32), datetime.now(UTC)
        row = {"hash": hashed(ticket), "tenant": tenant, "person": person, "scopes": sorted(scopes), "ends_at": now + TICKET}
        async with self.database.writing() as connection:
            await connection.execute(delete(tickets).where(tickets.c.ends_at < now))
            await connection.execute(insert(tickets).values(row))
        return ticket

    @whole
    async def begin_session(self, ticket: str) -> tuple[str, Session]:
        """Use a ticket up: the session that it begins, and the secret that the browser keeps. Raises `UnauthorizedError`."""
        now = datetime.now(UTC)
        async with self.database.writing() as connection:
            used = await connection.execute(delete(tickets).where(tickets.c.hash == hashed(ticket)).returning(tickets))
            row = used.mappings().one_or_none()
            if row is None or aware(row["ends_at"]) < now:
                raise UnauthorizedError("this link was used, or is older than half a minute: make another with tandem open")
            return await _begin(connection, row["tenant"], row["person"], row["scopes"])

    @whole
    async def begin_session_of(self, tenant: str, person: str, scopes: Collection[str], account: str) -> tuple[str, Session]:
        """Begin a session of a provider's account, with the secret that the browser keeps. Raises `NotFoundError` without the tenant."""
        async with self.database.writing() as connection:
            live = select(tenants.c.id).where(tenants.c.id == tenant, tenants.c.deleted_at.is_(None)).with_for_update()
            if (await connection.execute(live)).scalar_one_or_none() is None:
                raise NotFoundError(f"there is no tenant {tenant!r}")
            return await _begin(connection, tenant, person, scopes, account)

    @whole
    async def session(self, secret: str) -> Session | None:
        """The session that a browser has the secret of, unless it has ended."""
        wanted = select(sessions).where(sessions.c.hash == hashed(secret), sessions.c.ends_at > datetime.now(UTC))
        async with self.database.reading() as connection:
            row = (await connection.execute(wanted)).mappings().one_or_none()
        return Session(row["hash"], row["tenant"], row["person"], frozenset(row["scopes"]), row["account"]) if row else None

    @whole
    async def end_sessions(self, tenant: str, number: str | None = None) -> int:
        """End a session, or all of a tenant, with what they have claimed; gives how many there were."""
        async with self.database.writing() as connection:
            ended, held = delete(sessions).where(sessions.c.tenant == tenant), delete(claims).where(claims.c.tenant == tenant)
            if number is not None:
                ended, held = ended.where(sessions.c.hash == number), held.where(claims.c.session == number)
            else:
                await connection.execute(delete(tickets).where(tickets.c.tenant == tenant))
            count = (await connection.execute(ended)).rowcount
            await connection.execute(held)
        await self.database.announce()
        return count

    @whole
    async def claim(self, tenant: str, question: str, person: str, session: str) -> Claim:
        """Claim what is asked, or hold it for longer. Raises `ConflictError` where another session has it."""
        now = datetime.now(UTC)
        key = (claims.c.tenant == tenant) & (claims.c.question == question)
        row = {"person": person[:128], "session": session, "ends_at": now + CLAIM}
        try:
            async with self.database.writing() as connection:
                await connection.execute(delete(claims).where(claims.c.ends_at < now))
                taken = await connection.execute(update(claims).where(key, claims.c.session == session).values(row))
                if not taken.rowcount:
                    await connection.execute(insert(claims).values(row | {"tenant": tenant, "question": question}))
        except IntegrityError as error:
            holder = next((one.person for one in await self.claims(tenant) if one.question == question), "somebody else")
            raise ConflictError(f"{holder} has claimed this") from error
        await self.database.announce()
        return Claim(question, person, session, now + CLAIM)

    @whole
    async def release(self, tenant: str, question: str, session: str) -> bool:
        """Let go of what the session has claimed; whether it had."""
        mine = (claims.c.tenant == tenant) & (claims.c.question == question) & (claims.c.session == session)
        async with self.database.writing() as connection:
            released = (await connection.execute(delete(claims).where(mine))).rowcount > 0
        await self.database.announce()
        return released

    @whole
    async def claims(self, tenant: str) -> list[Claim]:
        """What is claimed now."""
        wanted = select(claims).where(claims.c.tenant == tenant, claims.c.ends_at > datetime.now(UTC))
        async with self.database.reading() as connection:
            rows = (await connection.execute(wanted)).mappings().all()
        return [_claim(row) for row in rows]


async def _begin(connection: AsyncConnection, tenant: str, person: str, scopes: Collection[str], account: str = "") -> tuple[str, Session]:
    """Add a session, and make room for it."""
    secret, now = secrets.token_urlsafe(32), datetime.now(UTC)
    made = {"hash": hashed(secret), "tenant": tenant, "person": person, "scopes": sorted(scopes), "account": account}
    await connection.execute(delete(sessions).where(sessions.c.ends_at < now))
    ours = select(sessions.c.hash).where(sessions.c.tenant == tenant).order_by(sessions.c.ends_at.desc())
    await connection.execute(delete(sessions).where(sessions.c.hash.in_(ours.offset(MOST_SESSIONS - 1).limit(MOST_SESSIONS))))
    await connection.execute(insert(sessions).values(made | {"begun_at": now, "ends_at": now + SESSION}))
    return secret, Session(hashed(secret), tenant, person, frozenset(scopes), account)


def hashed(secret: str) -> str:
    """What is kept of a secret of 256 random bits."""
    return hashlib.sha256(secret.encode("utf-8", "surrogateescape")).hexdigest()


def _claim(row: RowMapping) -> Claim:
    return Claim(row["question"], row["person"], row["session"], aware(row["ends_at"]))
