"""When sandboxes that were made by E2B's protocol end."""

import sqlalchemy as sa
from alembic import op

revision = "0006"
down_revision = "0005"


def upgrade() -> None:
    """Make the table."""
    op.create_table(
        "e2b_deadlines",
        sa.Column("sandbox", sa.String(32), primary_key=True),
        sa.Column("ends_at", sa.DateTime(timezone=True), nullable=False),
    )
    op.create_index("e2b_ends", "e2b_deadlines", ["ends_at"])


def downgrade() -> None:
    """Remove it."""
    op.drop_table("e2b_deadlines")
