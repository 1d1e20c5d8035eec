"""Automatic checkpoints: the state of the files is kept before an operation that declares itself risky."""

import logging
from collections.abc import Callable
from typing import Literal

from pydantic import BaseModel

from sandbox_server.core import Call, Failure
from sandbox_server.core.dispatch import Proceed
from sandbox_server.core.operation import Operation
from sandbox_server.features.box.checkpoints import Checkpoints, PruneRequest

KEPT = 20
"""Automatic checkpoints that stay."""

_log = logging.getLogger(__name__)

type When = Literal["never", "idle", "always"]


class AutomaticCheckpoints:
    """Makes them `when` it is asked to; `idle`: where nothing runs (`busy`), since a checkpoint ends all processes."""

    def __init__(self, checkpoints: Checkpoints, *, when: When, busy: Callable[[], bool]) -> None:
        self._checkpoints = checkpoints
        self._when = when
        self._busy = busy

    async def guard(self, called: Operation, request: BaseModel | None, call: Call, proceed: Proceed) -> object:
        """Guard: keep the state of the files before something risky. Where that fails, the operation goes on, and the log says so."""
        risky = called.spec.risky
        if risky and self._when != "never" and risky(request) and (self._when == "always" or not self._busy()):
            await self._keep(called, call)
        return await proceed()

    async def _keep(self, called: Operation, call: Call) -> None:
        try:
            await self._checkpoints.keep(f"before {called.name}", call.caller.name)
            await self._checkpoints.prune_checkpoints(PruneRequest(keep=KEPT))
        except Failure as failure:
            _log.warning("no checkpoint could be made before %s: %s", called.name, failure)
