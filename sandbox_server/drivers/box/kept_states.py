"""What is kept beside the files of a checkpoint: shells, tabs and programs of that moment, a text that only the API reads."""

from contextlib import suppress

from sandbox_server.drivers.box.layer_store import BoxStore, StoreError
from sandbox_server.drivers.storage import atomic_write

MAX_STATE = 2 << 20


def keep(store: BoxStore, checkpoint: str, state: str) -> None:
    """Keep it. Raises StoreError where there is no such checkpoint, or too much."""
    if len(state) > MAX_STATE:
        raise StoreError("invalid_argument", f"a checkpoint's state has at most {MAX_STATE} bytes")
    atomic_write.replace(_place(store, checkpoint), state, durable=True)


def read(store: BoxStore, checkpoint: str) -> str:
    """Return what `keep` kept; empty for nothing. Raises StoreError where there is no such checkpoint."""
    with suppress(FileNotFoundError, ValueError), open(_place(store, checkpoint), "rb") as file:
        return file.read(MAX_STATE).decode()
    return ""


def _place(store: BoxStore, checkpoint: str) -> str:
    return f"{store.folder}/about/{store.record(checkpoint).id}.state"
