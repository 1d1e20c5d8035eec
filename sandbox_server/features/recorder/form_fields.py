"""Which fields of forms somebody changes, by name: told by a script in a world of its own on every page, which no script of the page sees.

What is in a field never leaves its page, and a field for a password, a code or a card is not told at all.
"""

from collections.abc import Callable
from typing import Any

from sandbox_server.drivers.devtools.connection import DevtoolsConnection, connected

MAX_NAME = 80
WORLD = "receipt"
BINDING = "fieldChanged"
SCRIPT = """
(() => {
  const told = new Set();
  const kept = /one-time-code|password|cc-/;
  const secret = (field) => field.type === "password" || field.type === "hidden" || kept.test(field.autocomplete ?? "");
  const named = (field) =>
    field.labels?.[0]?.innerText || field.getAttribute("aria-label") || field.name || field.id || field.placeholder || field.localName;
  const take = (event) => {
    const field = event.composedPath()[0];
    if (!event.isTrusted || !(field instanceof Element) || secret(field)) return;
    if (!field.matches("input, textarea, select") && !field.isContentEditable) return;
    const name = String(named(field)).trim().replace(/\\s+/g, " ").slice(0, 80);
    if (told.has(name) || !globalThis.fieldChanged) return;
    told.add(name);
    globalThis.fieldChanged(name);
  };
  addEventListener("input", take, true);
  addEventListener("change", take, true);
})()
"""


class FieldWatch:
    """Watches the pages of the browser behind `socket`."""

    def __init__(self, socket: str) -> None:
        self._socket = socket

    async def watch(self, changed: Callable[[str], None]) -> None:
        """Tell every field that is changed, until cancelled or the browser ends. Raises Unavailable while there is no browser."""
        pages = _Pages(changed)
        async with connected(self._socket, pages.take) as connection:
            pages.connection = connection
            await connection.command("Target.setAutoAttach", _ATTACH)
            await connection.ended.wait()


_ATTACH = {"autoAttach": True, "waitForDebuggerOnStart": False, "flatten": True, "filter": [{"type": "page"}, {"type": "iframe"}]}


_NEW_DOCUMENT = ("Page.frameNavigated", "Page.domContentEventFired")


class _Pages:
    def __init__(self, changed: Callable[[str], None]) -> None:
        self.connection: DevtoolsConnection | None = None
        self._changed = changed

    def take(self, session: str | None, method: str, params: dict[str, Any]) -> None:
        """Take an event of the browser."""
        if method == "Target.attachedToTarget" and self.connection:
            self._set_up(self.connection, str(params["sessionId"]))
        elif method in _NEW_DOCUMENT and self.connection and session:
            self._bind(self.connection, session)
        elif method == "Runtime.bindingCalled" and params.get("name") == BINDING:
            self._changed(str(params.get("payload", ""))[:MAX_NAME])

    def _set_up(self, connection: DevtoolsConnection, session: str) -> None:
        connection.post("Page.enable", {}, session)
        script = {"source": SCRIPT, "worldName": WORLD, "runImmediately": True}
        connection.post("Page.addScriptToEvaluateOnNewDocument", script, session)
        self._bind(connection, session)
        connection.post("Target.setAutoAttach", _ATTACH, session)

    def _bind(self, connection: DevtoolsConnection, session: str) -> None:
        """Give the worlds that are there the way to tell us; later ones have none but by `Runtime.enable`, which pages notice."""
        connection.post("Runtime.removeBinding", {"name": BINDING}, session)
        connection.post("Runtime.addBinding", {"name": BINDING, "executionContextName": WORLD}, session)
