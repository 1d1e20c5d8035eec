"""The guard on every operation that needs the desktop or the browser."""

from pydantic import BaseModel

from sandbox_server.core import Call, Unavailable
from sandbox_server.core.dispatch import Proceed
from sandbox_server.core.operation import Operation
from sandbox_server.settings import ComponentsSettings

DESKTOP = frozenset({"gui", "cdp"})
"""What a call acts on that a sandbox without a desktop does not have."""


class DesktopGuard:
    """Guard: where there is no desktop, an operation that needs it or the browser is refused, and says what would bring one."""

    def __init__(self, components: ComponentsSettings) -> None:
        self._absence = components.desktop_absence

    async def __call__(self, called: Operation, request: BaseModel | None, call: Call, proceed: Proceed) -> object:
        acts = set(called.spec.acts)
        needs = called.spec.scope == "browser" or (acts and acts <= DESKTOP)  # what acts on shells as well runs without one
        if self._absence and needs:
            raise Unavailable(self._absence.reason, hint=self._absence.hint)
        return await proceed()
