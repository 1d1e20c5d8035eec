"""The account of an identity provider that a session is of."""

import sqlalchemy as sa
from alembic import op

revision = "0009"
down_revision = "0008"


def upgrade() -> None:
    """Add the column. Sessions that there are were begun by a link."""
    op.add_column("sessions", sa.Column("account", sa.String(128), nullable=False, server_default=""))


def downgrade() -> None:
    """Remove it."""
    op.drop_column("sessions", "account")
