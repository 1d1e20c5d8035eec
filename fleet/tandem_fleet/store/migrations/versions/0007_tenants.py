"""Tenants, their API keys, the record of calls, and what is used."""

from datetime import UTC, datetime
from typing import Any

import sqlalchemy as sa
from alembic import op

revision = "0007"
down_revision = "0006"
GOES_ON = sa.text("ended_ms IS NULL")
NUMBER = sa.BigInteger().with_variant(sa.Integer, "sqlite")


def upgrade() -> None:
    """Make the tables, with the operator's tenant."""
    made = op.create_table(
        "tenants",
        sa.Column("id", sa.String(64), primary_key=True),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("deleted_at", sa.DateTime(timezone=True)),
        sa.Column("quota", sa.JSON, nullable=False),
    )
    op.bulk_insert(made, [{"id": "default", "created_at": datetime.now(UTC), "quota": {}}])
    op.create_table(
        "api_keys",
        sa.Column("id", sa.String(16), primary_key=True),
        sa.Column("tenant", sa.String(64), nullable=False),
        sa.Column("name", sa.String(128), nullable=False),
        sa.Column("digest", sa.String(64), nullable=False),
        sa.Column("scopes", sa.JSON, nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("expires_at", sa.DateTime(timezone=True)),
        sa.Column("used_at", sa.DateTime(timezone=True)),
        sa.Column("revoked_at", sa.DateTime(timezone=True)),
    )
    op.create_index("api_keys_of_tenants", "api_keys", ["tenant"])
    op.create_table(
        "audit",
        sa.Column("number", NUMBER, primary_key=True, autoincrement=True),
        sa.Column("at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("tenant", sa.String(64), nullable=False),
        sa.Column("caller", sa.String(160), nullable=False),
        sa.Column("address", sa.String(64), nullable=False),
        sa.Column("request", sa.String(64), nullable=False),
        sa.Column("call", sa.String(512), nullable=False),
        sa.Column("status", sa.Integer, nullable=False),
        sqlite_autoincrement=True,
    )
    op.create_index("audit_of_tenants", "audit", ["tenant", "number"])
    _create_usage()


def _create_usage() -> None:
    """Make the table of what is used. What goes on now is counted from now."""
    made = op.create_table(
        "usage",
        sa.Column("number", NUMBER, primary_key=True, autoincrement=True),
        sa.Column("tenant", sa.String(64), nullable=False),
        sa.Column("sandbox", sa.String(32), nullable=False),
        sa.Column("kind", sa.String(16), nullable=False),
        sa.Column("memory_mb", sa.BigInteger, nullable=False),
        sa.Column("cpus", sa.Float, nullable=False),
        sa.Column("began_ms", sa.BigInteger, nullable=False),
        sa.Column("ended_ms", sa.BigInteger),
    )
    op.create_index("usage_of_tenants", "usage", ["tenant", "began_ms"])
    op.create_index("usage_goes_on", "usage", ["sandbox"], unique=True, sqlite_where=GOES_ON, postgresql_where=GOES_ON)
    sandboxes = sa.table("sandboxes", *(sa.column(name) for name in ("tenant", "id", "state")), sa.column("spec", sa.JSON))
    kinds = {"starting": "running", "ready": "running", "stopping": "running", "paused": "paused"}
    now = int(datetime.now(UTC).timestamp() * 1000)
    found = op.get_bind().execute(sa.select(sandboxes).where(sandboxes.c.state.in_(kinds))).mappings().all()
    rows: list[dict[str, Any]] = [
        {"tenant": row["tenant"], "sandbox": row["id"], "kind": kinds[row["state"]], "began_ms": now}
        | {"memory_mb": row["spec"].get("memory_mb", 0), "cpus": row["spec"].get("cpus") or 0}
        for row in found
    ]
    op.bulk_insert(made, rows)


def downgrade() -> None:
    """Remove them."""
    for name in ("usage", "audit", "api_keys", "tenants"):
        op.drop_table(name)
