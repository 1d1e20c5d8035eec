"""Sandboxes that wait in pools, what is put into a sandbox before it is ready, snapshots, and webhooks."""

import sqlalchemy as sa
from alembic import op

revision = "0003"
down_revision = "0002"
NUMBER = sa.BigInteger().with_variant(sa.Integer, "sqlite")


def upgrade() -> None:
    """Make the tables."""
    op.create_table(
        "pool_members",
        sa.Column("sandbox", sa.String(32), primary_key=True),
        sa.Column("pool", sa.String(160), nullable=False),
    )
    op.create_index("ix_pool_members_pool", "pool_members", ["pool"])
    op.create_table(
        "preparations",
        sa.Column("sandbox", sa.String(32), primary_key=True),
        sa.Column("work", sa.JSON, nullable=False),
    )
    op.create_table(
        "snapshots",
        sa.Column("number", NUMBER, primary_key=True, autoincrement=True),
        sa.Column("id", sa.String(32), nullable=False, unique=True),
        sa.Column("tenant", sa.String(64), nullable=False),
        sa.Column("label", sa.String(200), nullable=False),
        sa.Column("sandbox", sa.String(32), nullable=False),
        sa.Column("spec", sa.JSON, nullable=False),
        sa.Column("state", sa.String(16), nullable=False),
        sa.Column("reason", sa.String(1024), nullable=False),
        sa.Column("bytes", sa.BigInteger, nullable=False),
        sa.Column("digest", sa.String(64), nullable=False),
        sa.Column("temporary", sa.Boolean, nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
    )
    op.create_index("ix_snapshots_tenant", "snapshots", ["tenant"])
    op.create_index("ix_snapshots_state", "snapshots", ["state"])
    op.create_table(
        "webhooks",
        sa.Column("id", sa.String(32), primary_key=True),
        sa.Column("tenant", sa.String(64), nullable=False),
        sa.Column("url", sa.String(2048), nullable=False),
        sa.Column("secret", sa.String(128), nullable=False),
        sa.Column("types", sa.JSON, nullable=False),
        sa.Column("cursor", sa.BigInteger, nullable=False),
        sa.Column("attempts", sa.Integer, nullable=False),
        sa.Column("failing_since", sa.DateTime(timezone=True), nullable=True),
        sa.Column("next_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("reason", sa.String(300), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("disabled", sa.Boolean, nullable=False),
    )
    op.create_index("ix_webhooks_tenant", "webhooks", ["tenant"])


def downgrade() -> None:
    """Remove them."""
    for name in ("webhooks", "snapshots", "preparations", "pool_members"):
        op.drop_table(name)
