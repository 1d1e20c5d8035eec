"""Secret fields: whether a field that takes secrets has the focus, in any page, frame or open shadow tree.

A client of the server's own attaches to every page and runs a script in an isolated world of each document. The page
can neither see that world nor call its binding. It cannot detect the script either, as it could if the Runtime domain
were enabled.
"""

import asyncio
import logging
import secrets
from collections.abc import Callable, Mapping
from functools import cache
from pathlib import Path
from typing import Any

import orjson

from sandbox_server.cdp.browser_connection import BrowserLink
from sandbox_server.cdp.command_rules import OWNER
from sandbox_server.cdp.devtools_clients import DevtoolsClient
from sandbox_server.cdp.messages import Object, encode
from sandbox_server.cdp.outbox import Outbox
from sandbox_server.core.tasks import Tasks

WORLD = "tandem-fields"
_ATTACH = {"autoAttach": True, "waitForDebuggerOnStart": True, "flatten": True}
_SHOWN = ("page", "iframe")
LOAD_SECONDS = 0.1
"""How long a new document may load before the script is run in it, while nobody could type into it."""

log = logging.getLogger(__name__)


type Typed = Callable[[str, str, str], None]


@cache
def _script() -> str:
    return Path(__file__).with_name("secret_fields.js").read_text(encoding="utf-8")


class SecretFields:
    """Follows the secret fields of each browser in turn.

    `focused` is called when a secret field gets the focus. `typed` gets a field's value after each key, its value before,
    and the origin of its document. `person` says whether a person may type. Where none may, a new document first loads:
    see `hurry`.
    """

    def __init__(self, focused: Callable[[], None], typed: Typed, person: Callable[[], bool] = lambda: True) -> None:
        self._focused = focused
        self._typed = typed
        self._person = person
        self._follower: _SecretFieldFollower | None = None
        self._following: asyncio.Task[None] | None = None
        self._news = asyncio.Event()
        self._tasks = Tasks()
        self.secret = False
        """Whether a secret field has the focus."""

    async def follow(self, link: BrowserLink) -> None:
        """Follow a new browser from now on."""
        if self._following:
            self._following.cancel()
        self._set(secret=False)
        self._follower = _SecretFieldFollower(link, *await link.attach(OWNER, None), self._tell, self._typed, self._person)
        self._following = self._tasks.start(self._follower.follow(), name="fields of pages")

    async def changed(self, known: bool) -> None:
        """Wait until the value differs from `known`."""
        while self.secret == known:
            await self._news.wait()

    def hurry(self) -> None:
        """Look at once into documents that were left to load: a person may type from now on."""
        if self._follower:
            self._follower.hurry()

    def discard_messages(self) -> None:
        """Clear the pages' console messages from private mode, which a later client would receive."""
        if self._follower:
            self._follower.discard_messages()

    async def close(self) -> None:
        """Disconnect from the browser."""
        await self._tasks.close()

    def _tell(self, *, secret: bool) -> None:
        begun = secret and not self.secret
        self._set(secret=secret)
        if begun:
            self._focused()

    def _set(self, *, secret: bool) -> None:
        self.secret = secret
        self._news.set()
        self._news.clear()


class _SecretFieldFollower:
    """A client attached to one browser, and to each page and frame as it appears."""

    def __init__(
        self, link: BrowserLink, peer: DevtoolsClient, outbox: Outbox, tell: Callable[..., None], typed: Typed, person: Callable[[], bool]
    ) -> None:
        self._typed = typed
        self._person = person
        self._link = link
        self._peer = peer
        self._outbox = outbox
        self._tell = tell
        self._last = 0
        self._binding = f"tandem_{secrets.token_hex(8)}"
        self._waiting: dict[int, tuple[str, Callable[[Object], None]]] = {}
        """The handlers of open commands by id, each with its session."""
        self._places: dict[str, tuple[str, str]] = {}
        """The session and frame of each binding."""
        self._focused: set[tuple[str, str]] = set()
        """The documents, by session and frame, in which a secret field has the focus."""
        self._shown: set[str] = set()
        self._loading: dict[tuple[str, str], asyncio.TimerHandle] = {}
        """Session and frame of each document that loads before the script is run in it."""

    async def follow(self) -> None:
        """Serve until the browser ends or the task is cancelled."""
        try:
            self._send("Target.setAutoAttach", _ATTACH)
            while (message := await self._outbox.get()) is not None:
                try:
                    self._take(orjson.loads(message))
                except (KeyError, TypeError, ValueError):
                    log.exception("what a page said was not understood")
        finally:
            for place in list(self._loading):
                self._loading.pop(place).cancel()
            self._link.detach(self._peer)

    def hurry(self, session: str | None = None) -> None:
        """Run the script in what loads, in one session or in all."""
        for place in [place for place in self._loading if session in (None, place[0])]:
            self._enter(*place)

    def discard_messages(self) -> None:
        """Clear the console messages of every page."""
        for session in self._shown:
            self._send("Runtime.discardConsoleEntries", {}, session)
            self._send("Log.clear", {}, session)

    def _take(self, message: Object) -> None:
        if waiting := self._waiting.pop(message.get("id", 0), None):
            if "result" in message:  # else the document has gone
                waiting[1](message["result"])
            return
        match message.get("method"):
            case "Target.attachedToTarget":
                self._prepare(message["params"])
            case "Target.detachedFromTarget":
                self._forget(message["params"]["sessionId"])
            case "Page.frameNavigated":
                self._went(message["sessionId"], message["params"]["frame"])
            case "Page.frameAttached":
                self._enter_loading(message["sessionId"], message["params"]["frameId"])
            case "Page.loadEventFired":
                self.hurry(message["sessionId"])
            case "Page.frameDetached":
                self._leave(message["sessionId"], message["params"]["frameId"])
            case "Runtime.bindingCalled" if place := self._places.get(message["params"]["name"]):
                self._heard(place, orjson.loads(message["params"]["payload"]))

    def _heard(self, place: tuple[str, str], told: Object) -> None:
        if "value" in told:
            self._typed(str(told["value"]), str(told["was"]), str(told["origin"]))
            return
        if told["secret"]:
            self._focused.add(place)
        else:
            self._focused.discard(place)
        self._tell(secret=bool(self._focused))

    def _went(self, session: str, frame: Object) -> None:
        """A frame has a new document. If it is the top frame, all frames below it are gone."""
        self._leave(session, frame["id"] if "parentId" in frame else None)
        self._enter_loading(session, frame["id"])

    def _leave(self, session: str, frame: str | None) -> None:
        """Forget the bindings of a frame, or of a whole session."""
        gone = {binding for binding, place in self._places.items() if place[0] == session and frame in (None, place[1])}
        for binding in gone:
            self._focused.discard(self._places.pop(binding))
        for place in [place for place in self._loading if place[0] == session and frame in (None, place[1])]:
            self._loading.pop(place).cancel()
        self._tell(secret=bool(self._focused))

    def _forget(self, session: str) -> None:
        self._shown.discard(session)
        self._leave(session, None)
        self._waiting = {number: waiting for number, waiting in self._waiting.items() if waiting[0] != session}

    def _prepare(self, attached: Object) -> None:
        session = attached["sessionId"]
        if attached["targetInfo"]["type"] in _SHOWN:
            self._shown.add(session)
            self._send("Page.enable", {}, session)
            tree = self._send("Page.getFrameTree", {}, session)
            self._waiting[tree] = session, lambda result: self._enter_all(session, result["frameTree"])
        self._send("Target.setAutoAttach", _ATTACH, session)
        self._send("Runtime.runIfWaitingForDebugger", {}, session)

    def _enter_all(self, session: str, tree: Object) -> None:
        self._enter(session, tree["frame"]["id"])
        for child in tree.get("childFrames", ()):
            self._enter_all(session, child)

    def _enter_loading(self, session: str, frame: str) -> None:
        """Run the script in a new document: at once where a person may type, else when it has loaded or takes its time."""
        if self._person():
            self._enter(session, frame)
        elif (session, frame) not in self._loading:
            self._loading[session, frame] = asyncio.get_running_loop().call_later(LOAD_SECONDS, self._enter, session, frame)

    def _enter(self, session: str, frame: str) -> None:
        """Run the script in a frame's document."""
        if timer := self._loading.pop((session, frame), None):
            timer.cancel()
        made = self._send("Page.createIsolatedWorld", {"frameId": frame, "worldName": WORLD}, session)
        self._waiting[made] = session, lambda result: self._look(session, frame, result["executionContextId"])

    def _look(self, session: str, frame: str, context: int) -> None:
        binding = f"{self._binding}_{self._last}"  # a new name each time: Chromium does not add a binding twice
        self._places[binding] = session, frame
        self._send("Runtime.addBinding", {"name": binding, "executionContextId": context}, session)
        self._send("Runtime.evaluate", {"expression": _script().replace("__binding__", binding), "contextId": context}, session)

    def _send(self, method: str, params: Mapping[str, Any], session: str | None = None) -> int:
        self._last += 1
        address = {"sessionId": session} if session else {}
        self._link.send(self._peer, encode({"id": self._last, "method": method, "params": dict(params), **address}))
        return self._last
