"""The tables of the store. `migrations` makes them."""

from sqlalchemy import JSON, BigInteger, Boolean, Column, DateTime, Float, Index, Integer, MetaData, String, Table, UniqueConstraint, text

metadata = MetaData()
_NUMBER = BigInteger().with_variant(Integer, "sqlite")  # SQLite counts up integers alone

sandboxes = Table(
    "sandboxes",
    metadata,
    Column("number", _NUMBER, primary_key=True, autoincrement=True),
    Column("id", String(32), nullable=False, unique=True),
    Column("name", String(64), nullable=False),
    Column("tenant", String(64), nullable=False),
    Column("spec", JSON, nullable=False),
    Column("desired", String(16), nullable=False),
    Column("state", String(16), nullable=False),
    Column("reason", String(1024), nullable=False),
    Column("address", String(256), nullable=False),
    Column("failures", Integer, nullable=False),
    Column("created_at", DateTime(timezone=True), nullable=False),
    Column("changed_at", DateTime(timezone=True), nullable=False),
    Index(
        "live_names", "tenant", "name", unique=True, sqlite_where=text("state != 'deleted'"), postgresql_where=text("state != 'deleted'")
    ),
    Index("live", "state"),
)

events = Table(
    "events",
    metadata,
    Column("number", _NUMBER, primary_key=True, autoincrement=True),
    Column("tenant", String(64), nullable=False),
    Column("sandbox", String(32), nullable=False),
    Column("at", DateTime(timezone=True), nullable=False),
    Column("data", JSON, nullable=False),
    sqlite_autoincrement=True,
)

requests = Table(
    "requests",
    metadata,
    Column("tenant", String(64), primary_key=True),
    Column("key", String(255), primary_key=True),
    Column("digest", String(64), nullable=False),
    Column("sandbox", String(32), nullable=False),
    Column("at", DateTime(timezone=True), nullable=False),
)

tenants = Table(
    "tenants",
    metadata,
    Column("id", String(64), primary_key=True),
    Column("created_at", DateTime(timezone=True), nullable=False),
    Column("deleted_at", DateTime(timezone=True)),
    Column("quota", JSON, nullable=False),
)

api_keys = Table(
    "api_keys",
    metadata,
    Column("id", String(16), primary_key=True),
    Column("tenant", String(64), nullable=False),
    Column("name", String(128), nullable=False),
    Column("digest", String(64), nullable=False),
    Column("scopes", JSON, nullable=False),
    Column("created_at", DateTime(timezone=True), nullable=False),
    Column("expires_at", DateTime(timezone=True)),
    Column("used_at", DateTime(timezone=True)),
    Column("revoked_at", DateTime(timezone=True)),
    Index("api_keys_of_tenants", "tenant"),
)

audit = Table(
    "audit",
    metadata,
    Column("number", _NUMBER, primary_key=True, autoincrement=True),
    Column("at", DateTime(timezone=True), nullable=False),
    Column("tenant", String(64), nullable=False),
    Column("caller", String(160), nullable=False),
    Column("address", String(64), nullable=False),
    Column("request", String(64), nullable=False),
    Column("call", String(512), nullable=False),
    Column("status", Integer, nullable=False),
    Index("audit_of_tenants", "tenant", "number"),
    sqlite_autoincrement=True,
)

usage = Table(
    "usage",
    metadata,
    Column("number", _NUMBER, primary_key=True, autoincrement=True),
    Column("tenant", String(64), nullable=False),
    Column("sandbox", String(32), nullable=False),
    Column("kind", String(16), nullable=False),
    Column("memory_mb", BigInteger, nullable=False),
    Column("cpus", Float, nullable=False),
    Column("began_ms", BigInteger, nullable=False),
    Column("ended_ms", BigInteger),
    Index("usage_of_tenants", "tenant", "began_ms"),
    Index("usage_goes_on", "sandbox", unique=True, sqlite_where=text("ended_ms IS NULL"), postgresql_where=text("ended_ms IS NULL")),
)

templates = Table(
    "templates",
    metadata,
    Column("number", _NUMBER, primary_key=True, autoincrement=True),
    Column("tenant", String(64), nullable=False),
    Column("name", String(64), nullable=False),
    Column("version", Integer, nullable=False),
    Column("content", JSON, nullable=False),
    Column("digest", String(64), nullable=False),
    Column("created_at", DateTime(timezone=True), nullable=False),
    UniqueConstraint("tenant", "name", "version", name="template_versions"),
)

schedules = Table(
    "schedules",
    metadata,
    Column("id", String(32), primary_key=True),
    Column("sandbox", String(32), nullable=False, index=True),
    Column("at", DateTime(timezone=True), nullable=False, index=True),
    Column("every_seconds", Integer, nullable=True),
)

pool_members = Table(
    "pool_members",
    metadata,
    Column("sandbox", String(32), primary_key=True),
    Column("pool", String(160), nullable=False, index=True),
)

preparations = Table(
    "preparations",
    metadata,
    Column("sandbox", String(32), primary_key=True),
    Column("work", JSON, nullable=False),
)

e2b_deadlines = Table(
    "e2b_deadlines",
    metadata,
    Column("sandbox", String(32), primary_key=True),
    Column("ends_at", DateTime(timezone=True), nullable=False),
    Index("e2b_ends", "ends_at"),
)

tickets = Table(
    "tickets",
    metadata,
    Column("hash", String(64), primary_key=True),
    Column("tenant", String(64), nullable=False),
    Column("person", String(128), nullable=False),
    Column("scopes", JSON, nullable=False),
    Column("ends_at", DateTime(timezone=True), nullable=False),
)

sessions = Table(
    "sessions",
    metadata,
    Column("hash", String(64), primary_key=True),
    Column("tenant", String(64), nullable=False),
    Column("person", String(128), nullable=False),
    Column("account", String(128), nullable=False, server_default=""),
    Column("scopes", JSON, nullable=False),
    Column("begun_at", DateTime(timezone=True), nullable=False),
    Column("ends_at", DateTime(timezone=True), nullable=False),
    Index("sessions_of_tenants", "tenant"),
)

claims = Table(
    "claims",
    metadata,
    Column("tenant", String(64), primary_key=True),
    Column("question", String(96), primary_key=True),
    Column("person", String(128), nullable=False),
    Column("session", String(64), nullable=False),
    Column("ends_at", DateTime(timezone=True), nullable=False),
)

snapshots = Table(
    "snapshots",
    metadata,
    Column("number", _NUMBER, primary_key=True, autoincrement=True),
    Column("id", String(32), nullable=False, unique=True),
    Column("tenant", String(64), nullable=False, index=True),
    Column("label", String(200), nullable=False),
    Column("sandbox", String(32), nullable=False),
    Column("spec", JSON, nullable=False),
    Column("state", String(16), nullable=False, index=True),
    Column("reason", String(1024), nullable=False),
    Column("bytes", BigInteger, nullable=False),
    Column("digest", String(64), nullable=False),
    Column("temporary", Boolean, nullable=False),
    Column("created_at", DateTime(timezone=True), nullable=False),
)

webhooks = Table(
    "webhooks",
    metadata,
    Column("id", String(32), primary_key=True),
    Column("tenant", String(64), nullable=False, index=True),
    Column("url", String(2048), nullable=False),
    Column("secret", String(128), nullable=False),
    Column("types", JSON, nullable=False),
    Column("cursor", BigInteger, nullable=False),
    Column("attempts", Integer, nullable=False),
    Column("failing_since", DateTime(timezone=True), nullable=True),
    Column("next_at", DateTime(timezone=True), nullable=True),
    Column("reason", String(300), nullable=False),
    Column("created_at", DateTime(timezone=True), nullable=False),
    Column("disabled", Boolean, nullable=False),
)
facts = Table("facts", metadata, Column("name", String(64), primary_key=True), Column("value", JSON, nullable=False))
