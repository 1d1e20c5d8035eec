"""Fills a store that has no box yet with a checkpoint's archive, from which the first box then starts. Before the daemon runs."""

import os
import resource
import signal
from collections.abc import Sequence

from sandbox_server.drivers.box import main, namespaces
from sandbox_server.drivers.box.layer_store import BoxStore
from sandbox_server.drivers.box.layer_worker import WORK_BYTES, LayerWork
from sandbox_server.drivers.box.mount_plan import LayeredPart

LABEL = "restored"


def has_run(folder: str) -> bool:
    """Whether a box has run on a store."""
    return os.path.lexists(BoxStore(folder).up)


def has_checkpoints(folder: str) -> bool:
    """Whether a store has any checkpoint. Raises StoreError where it is damaged."""
    store = BoxStore(folder)
    return os.path.exists(f"{folder}/state.json") and (store.head is not None or bool(store.records()))


def restore_into(arguments: Sequence[str], archive: int, who: str, seconds: float) -> str:
    """Take in the archive, with the daemon's command line, and return the checkpoint that the next box starts from.

    What an earlier call left half done goes first. Raises StoreError and OSError. The process cannot do anything else after it: it has
    given up its rights, follows no link in the store, and is killed after so many seconds.
    """
    options = main.parse(arguments)
    signal.signal(signal.SIGALRM, signal.SIG_DFL)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    namespaces.leave_user_namespace()
    store = BoxStore(options.store)
    parts = [part for part in main.prepare(store, options) if isinstance(part, LayeredPart)]
    _forget_all(store)
    resource.setrlimit(resource.RLIMIT_DATA, (WORK_BYTES, WORK_BYTES))
    namespaces.forbid_links(store.folder)
    taken = LayerWork(store, parts, options.quota).run("import", {"label": None, "who": who}, [archive])
    made = str(taken["checkpoint"]["id"])  # type: ignore[index] # as `_import` gives it
    BoxStore("/").start_from(made)  # the process sees nothing but the store by now
    return made


def _forget_all(store: BoxStore) -> None:
    store.start_from(None)
    for record in reversed(store.records()):
        store.forget(record.id)
