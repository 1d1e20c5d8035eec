"""The lease on disk: how another life of this process left it."""

import logging
import time

from sandbox_server.core.control import Holding
from sandbox_server.drivers.storage.json_file import JsonFile
from sandbox_server.features.control.lease_state_machine import Lease

log = logging.getLogger("sandbox.control")


def read_lease(file: JsonFile, now: float) -> Lease:
    """The lease as another life of this process left it: its holder has no viewer until one connects again."""
    try:
        kept = file.read()
        if kept is None:
            return Lease()
        holding = Holding.loads(kept)
        since = min(now, now - (time.time() - float(kept["since"])))
    except (OSError, TypeError, ValueError, KeyError):
        log.warning("the lease on disk cannot be read: the agent has control")
        return Lease()
    return Lease(holding, since, now, now if holding.state == "human" else None)
