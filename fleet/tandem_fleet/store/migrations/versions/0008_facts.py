"""What holds for the whole fleet."""

import sqlalchemy as sa
from alembic import op

revision = "0008"
down_revision = "0007"


def upgrade() -> None:
    """Make the table."""
    op.create_table("facts", sa.Column("name", sa.String(64), primary_key=True), sa.Column("value", sa.JSON, nullable=False))


def downgrade() -> None:
    """Remove it."""
    op.drop_table("facts")
