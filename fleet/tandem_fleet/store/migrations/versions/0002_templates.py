"""Templates, and times at which sandboxes wake."""

import sqlalchemy as sa
from alembic import op

revision = "0002"
down_revision = "0001"
NUMBER = sa.BigInteger().with_variant(sa.Integer, "sqlite")


def upgrade() -> None:
    """Make the tables."""
    op.create_table(
        "templates",
        sa.Column("number", NUMBER, primary_key=True, autoincrement=True),
        sa.Column("tenant", sa.String(64), nullable=False),
        sa.Column("name", sa.String(64), nullable=False),
        sa.Column("version", sa.Integer, nullable=False),
        sa.Column("content", sa.JSON, nullable=False),
        sa.Column("digest", sa.String(64), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.UniqueConstraint("tenant", "name", "version", name="template_versions"),
    )
    op.create_table(
        "schedules",
        sa.Column("id", sa.String(32), primary_key=True),
        sa.Column("sandbox", sa.String(32), nullable=False),
        sa.Column("at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("every_seconds", sa.Integer, nullable=True),
    )
    op.create_index("ix_schedules_sandbox", "schedules", ["sandbox"])
    op.create_index("ix_schedules_at", "schedules", ["at"])


def downgrade() -> None:
    """Remove them."""
    for name in ("schedules", "templates"):
        op.drop_table(name)
