"""The browser's targets, each with a session: pages, their out-of-process frames, and workers.

A new target is paused until it is set up (`waitForDebuggerOnStart`), so that its first request is observed too. Nothing
waits for a reply here, so a page that hangs delays no other.
"""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass

from sandbox_server.drivers.devtools.connection import DevtoolsConnection, Object

KINDS = ("page", "iframe", "worker", "shared_worker", "service_worker")


@dataclass(frozen=True, slots=True)
class DevtoolsTarget:
    """One target."""

    session: str
    id: str
    kind: str
    page: str
    """Target id of the page that it belongs to; its own if it belongs to none."""


type SetUp = Callable[[DevtoolsTarget], Iterable[tuple[str, Object]]]
"""Returns the commands that set up a new target."""


class DevtoolsTargets:
    """The targets of the browser's default context. Contexts that clients made are left to those clients."""

    def __init__(self, set_up: SetUp) -> None:
        self._set_up = set_up
        self._sessions: dict[str, DevtoolsTarget] = {}
        self._hidden: set[str] = set()
        self._connection: DevtoolsConnection | None = None
        self._context: str | None = None

    def __iter__(self) -> Iterator[DevtoolsTarget]:
        return iter(list(self._sessions.values()))

    def get(self, session: str | None) -> DevtoolsTarget | None:
        """Return the target of a session."""
        return self._sessions.get(session or "")

    async def follow(self, connection: DevtoolsConnection) -> None:
        """Attach to all targets, present and future."""
        self._sessions.clear()
        self._connection = connection
        self._context = (await connection.command("Target.getBrowserContexts")).get("defaultBrowserContextId")
        await connection.command("Target.setAutoAttach", _auto_attach())

    def hide(self, target_id: str) -> None:
        """Detach from a page that belongs to neither the person nor the agent."""
        self._hidden.add(target_id)
        for target in [target for target in self._sessions.values() if target_id in (target.id, target.page)]:
            self._release(target.session)
            self._sessions.pop(target.session, None)

    def take(self, session: str | None, method: str, params: Object) -> DevtoolsTarget | None:
        """Take an event of the domain Target. Return the target that is gone, if any."""
        if method == "Target.attachedToTarget":
            self._on_attached(session, params)
        elif method == "Target.detachedFromTarget":
            return self._sessions.pop(params["sessionId"], None)
        return None

    def _on_attached(self, above: str | None, params: Object) -> None:
        info, session = params["targetInfo"], params["sessionId"]
        parent = self.get(above)
        foreign = self._context is not None and info.get("browserContextId") not in (None, self._context)
        if self._connection is None or foreign or info["targetId"] in self._hidden or info["type"] not in KINDS:
            self._release(session)
            return
        target = DevtoolsTarget(session, info["targetId"], info["type"], parent.page if parent else info["targetId"])
        self._sessions[session] = target
        for command, more in self._set_up(target):
            self._connection.post(command, more, session)
        self._connection.post("Target.setAutoAttach", _auto_attach(), session)
        self._connection.post("Runtime.runIfWaitingForDebugger", {}, session)

    def _release(self, session: str) -> None:
        if self._connection:
            self._connection.post("Runtime.runIfWaitingForDebugger", {}, session)
            self._connection.post("Target.detachFromTarget", {"sessionId": session})


def _auto_attach() -> Object:
    return {"autoAttach": True, "waitForDebuggerOnStart": True, "flatten": True, "filter": [{"type": kind} for kind in KINDS]}
