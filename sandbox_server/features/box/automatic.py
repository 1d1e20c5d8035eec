"""Automatic checkpoints: the state of the files is kept before an operation that declares itself risky."""

import logging
from collections.abc import Callable
from typing import Literal

from pydantic import BaseModel

from sandbox_server.core import Call, Failure
from sandbox_server.core.control import Holding
from sandbox_server.core.dispatch import Proceed
from sandbox_server.core.operation import Operation
from sandbox_server.features.box.checkpoints import Checkpoints, PruneRequest
from sandbox_server.features.box.renewal import ENDS

KEPT = 20
"""Automatic checkpoints that stay."""

_log = logging.getLogger(__name__)

type When = Literal["never", "idle", "always"]


class AutomaticCheckpoints:
    """Makes them `when` it is asked to; `idle`: only where no command runs (`busy`), which would stand still for a moment.

    None is made for a caller whom a person keeps from the screen, the pages or the shells, by `holding`: those stand still, too.
    """

    def __init__(self, checkpoints: Checkpoints, *, when: When, busy: Callable[[], bool], holding: Callable[[], Holding]) -> None:
        self._checkpoints = checkpoints
        self._when = when
        self._busy = busy
        self._holding = holding

    async def guard(self, called: Operation, request: BaseModel | None, call: Call, proceed: Proceed) -> object:
        """Guard: keep the state of the files before something risky. Where that fails, the operation goes on, and the log says so."""
        risky = called.spec.risky
        if risky and self._when != "never" and risky(request) and (self._when == "always" or not self._busy()):
            await self._keep(called, call)
        return await proceed()

    async def _keep(self, called: Operation, call: Call) -> None:
        if not self._holding().admits_all(call.caller, ENDS):
            _log.warning("no checkpoint was made before %s: a person has control", called.name)
            return
        try:
            await self._checkpoints.keep(f"before {called.name}", call.caller)
            await self._checkpoints.prune_checkpoints(PruneRequest(keep=KEPT))
        except Failure as failure:
            _log.warning("no checkpoint could be made before %s: %s", called.name, failure)
