"""Run by Alembic: changes the database on the connection that the store gives it."""

from alembic import context

from tandem_fleet.store.tables import metadata

context.configure(connection=context.config.attributes["connection"], target_metadata=metadata, render_as_batch=True)
with context.begin_transaction():
    context.run_migrations()
