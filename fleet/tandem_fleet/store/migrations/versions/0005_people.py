"""Tickets and sessions of people's browsers, and who has claimed what is asked."""

import sqlalchemy as sa
from alembic import op

revision = "0005"
down_revision = "0003"


def upgrade() -> None:
    """Make the tables."""
    op.create_table(
        "tickets",
        sa.Column("hash", sa.String(64), primary_key=True),
        sa.Column("tenant", sa.String(64), nullable=False),
        sa.Column("person", sa.String(128), nullable=False),
        sa.Column("scopes", sa.JSON, nullable=False),
        sa.Column("ends_at", sa.DateTime(timezone=True), nullable=False),
    )
    op.create_table(
        "sessions",
        sa.Column("hash", sa.String(64), primary_key=True),
        sa.Column("tenant", sa.String(64), nullable=False),
        sa.Column("person", sa.String(128), nullable=False),
        sa.Column("scopes", sa.JSON, nullable=False),
        sa.Column("begun_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("ends_at", sa.DateTime(timezone=True), nullable=False),
    )
    op.create_index("sessions_of_tenants", "sessions", ["tenant"])
    op.create_table(
        "claims",
        sa.Column("tenant", sa.String(64), primary_key=True),
        sa.Column("question", sa.String(96), primary_key=True),
        sa.Column("person", sa.String(128), nullable=False),
        sa.Column("session", sa.String(64), nullable=False),
        sa.Column("ends_at", sa.DateTime(timezone=True), nullable=False),
    )


def downgrade() -> None:
    """Remove them."""
    for name in ("claims", "sessions", "tickets"):
        op.drop_table(name)
