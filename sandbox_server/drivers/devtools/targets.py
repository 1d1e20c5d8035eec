"""What runs in the browser, each with a session: pages, their frames in other processes, and workers.

Each new one waits until it was set up (`waitForDebuggerOnStart`), so that not even its first request is missed. Nothing here waits for a
reply: a page that hangs holds up nobody.
"""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass

from sandbox_server.drivers.devtools.connection import DevtoolsConnection, Object

KINDS = ("page", "iframe", "worker", "shared_worker", "service_worker")


@dataclass(frozen=True, slots=True)
class DevtoolsTarget:
    """One of them."""

    session: str
    id: str
    kind: str
    page: str
    """Target id of the page that it belongs to; its own where it belongs to none."""


type SetUp = Callable[[DevtoolsTarget], Iterable[tuple[str, Object]]]
"""Gives the commands by which a new target is set up."""


class DevtoolsTargets:
    """The targets of the browser's own profile; those of contexts that clients made for themselves are left to these."""

    def __init__(self, set_up: SetUp) -> None:
        self._set_up = set_up
        self._sessions: dict[str, DevtoolsTarget] = {}
        self._hidden: set[str] = set()
        self._connection: DevtoolsConnection | None = None
        self._context: str | None = None

    def __iter__(self) -> Iterator[DevtoolsTarget]:
        return iter(list(self._sessions.values()))

    def get(self, session: str | None) -> DevtoolsTarget | None:
        """The target of a session."""
        return self._sessions.get(session or "")

    async def follow(self, connection: DevtoolsConnection) -> None:
        """Attach to all that is there and all that comes."""
        self._sessions.clear()
        self._connection = connection
        self._context = (await connection.command("Target.getBrowserContexts")).get("defaultBrowserContextId")
        await connection.command("Target.setAutoAttach", _auto_attach())

    def hide(self, target_id: str) -> None:
        """Let go of a page that is none of the person's nor the agent's."""
        self._hidden.add(target_id)
        for target in [target for target in self._sessions.values() if target_id in (target.id, target.page)]:
            self._release(target.session)
            self._sessions.pop(target.session, None)

    def take(self, session: str | None, method: str, params: Object) -> DevtoolsTarget | None:
        """Take an event of the domain Target; gives the target that is gone, if one is."""
        if method == "Target.attachedToTarget":
            self._attached(session, params)
        elif method == "Target.detachedFromTarget":
            return self._sessions.pop(params["sessionId"], None)
        return None

    def _attached(self, above: str | None, params: Object) -> None:
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
