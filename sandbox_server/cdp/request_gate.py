"""The gate of requests: documents and sent data that approval rules are about wait until they are admitted.

A client of this process's own attaches to every target before it loads anything, and has Chromium pause its requests
there (domain Fetch). So the gate holds whether the API runs or not.
"""

import asyncio
import logging
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import orjson

from sandbox_server.cdp.browser_connection import COMMAND_TIMEOUT, BrowserLink
from sandbox_server.cdp.command_rules import OWNER
from sandbox_server.cdp.devtools_clients import DevtoolsClient
from sandbox_server.cdp.gated_targets import GatedTargets
from sandbox_server.cdp.messages import Object, encode
from sandbox_server.cdp.outbox import Outbox
from sandbox_server.cdp.policy_reload import OWN_PAGES
from sandbox_server.cdp.request_decisions import RequestDecisions
from sandbox_server.core.control import Holding
from sandbox_server.core.errors import Failure
from sandbox_server.core.tasks import Tasks
from sandbox_server.drivers.storage.json_file import JsonFile

SUBJECTS = frozenset({"navigation", "submit"})
"""What rules on requests are about: pages that open, and data that is sent."""
READS = frozenset({"GET", "HEAD", "OPTIONS"})
NAVIGATIONS = ("Document",)
SENDERS = ("Document", "XHR", "Fetch", "Ping", "Other")
"""The types of requests by which a page sends data."""
_ATTACH = {"autoAttach": True, "waitForDebuggerOnStart": True, "flatten": True}

log = logging.getLogger(__name__)


class RequestGate:
    """Keeps the gate in force in the browser, also after its restarts.

    `file` keeps the subjects for the next process. Until the API has told any, `configured` says whether there are rules.
    """

    def __init__(
        self, targets: GatedTargets, decisions: RequestDecisions, holding: Callable[[], Holding], file: JsonFile, *, configured: bool
    ) -> None:
        self._targets = targets
        self._decisions = decisions
        self._holding = holding
        self._file = file
        self.subjects = _kept(file, configured=configured)
        """What rules are about, as the API told last."""
        self._tasks = Tasks()
        self._link: BrowserLink | None = None
        self._follower: _Follower | None = None
        self._following: asyncio.Task[None] | None = None
        self._turn = asyncio.Lock()
        self.in_force: list[str] = []
        """The subjects that hold in the browser."""

    async def change(self, subjects: frozenset[str]) -> None:
        """Hold up requests for other subjects; returns when it holds. A browser that cannot be gated is ended."""
        subjects &= SUBJECTS
        await asyncio.to_thread(self._file.write, sorted(subjects))
        self.subjects = subjects
        link = self._link
        if link is None or link.over:
            self.in_force = sorted(subjects)
            return
        try:
            await self.apply(link)
        except Failure as failure:
            log.warning("the browser is ended, for its requests cannot be held up: %s", failure)
            link.close("its requests cannot be held up")

    async def apply(self, link: BrowserLink) -> None:
        """Put the gate in force in a browser, which may be a new one; raises Unavailable."""
        async with self._turn:
            self._link = link
            subjects = self.subjects
            patterns = patterns_of(subjects)
            if not patterns:
                await self._end()
            elif self._follower and self._follower.link is link:
                self._follower.pause(patterns)
            else:
                await self._end()
                await self._begin(link, patterns)
            self.in_force = sorted(subjects)

    async def close(self) -> None:
        """Disconnect from the browser."""
        await self._tasks.close()

    async def _begin(self, link: BrowserLink, patterns: Sequence[Object]) -> None:
        self._targets.begin()
        self._follower = _Follower(link, *await link.attach(OWNER, None), self._targets, self._admits, patterns)
        self._following = self._tasks.start(self._follower.follow(), name="gate of requests")
        try:
            async with asyncio.timeout(COMMAND_TIMEOUT):
                await self._follower.settled.wait()
        except TimeoutError:
            log.warning("a page does not have its requests held up yet: clients do not act on it until it does")

    async def _end(self) -> None:
        if self._following:
            self._following.cancel()
            await asyncio.wait([self._following])
        self._follower = self._following = None
        self._targets.end()

    def _admits(self, paused: Object) -> "asyncio.Task[bool] | None":
        """Ask whether a request goes on; None if no rule can be about it."""
        subjects = sorted(subjects_of(paused) & self.subjects)
        url, method = paused["request"]["url"], paused["request"]["method"]
        if not subjects or _is_persons(self._holding()) or (method == "GET" and url.startswith(OWN_PAGES)):
            return None
        return self._tasks.start(self._decisions.ask({"subjects": subjects, "url": url, "method": method}), name="admission of a request")


class _Follower:
    """A client on one browser, and on each target as it appears."""

    def __init__(
        self,
        link: BrowserLink,
        peer: DevtoolsClient,
        outbox: Outbox,
        targets: GatedTargets,
        admits: "Callable[[Object], asyncio.Task[bool] | None]",
        patterns: Sequence[Object],
    ) -> None:
        self.link = link
        self.settled = asyncio.Event()
        """Set when the requests of the targets that were open at the start are held up."""
        self._peer = peer
        self._outbox = outbox
        self._targets = targets
        self._admits = admits
        self._patterns = patterns
        self._last = 0
        self._awaited: dict[int, str | None] = {}
        self._sessions: dict[str, str] = {}
        self._asking: dict[str, set[asyncio.Task[bool]]] = {}

    async def follow(self) -> None:
        """Serve until the browser ends or the task is cancelled. A browser that cannot be followed is ended."""
        try:
            self._awaited[self._send("Target.setAutoAttach", _ATTACH)] = None
            while (message := await self._outbox.get()) is not None:
                self._take(orjson.loads(message))
        except BaseException as error:
            if not isinstance(error, asyncio.CancelledError):
                self.link.close("the gate of its requests ended")
            raise
        else:
            self.link.close("the gate of its requests ended")  # which has no effect on one that has ended itself
        finally:
            for tasks in self._asking.values():
                for task in tasks:
                    task.cancel()
            self.link.detach(self._peer)
            self.settled.set()

    def pause(self, patterns: Sequence[Object]) -> None:
        """Have other requests paused. Those that are paused stay so."""
        self._patterns = patterns
        for session in self._sessions:
            self._send("Fetch.enable", {"patterns": patterns}, session)

    def _take(self, message: Object) -> None:
        method, params = message.get("method"), message.get("params", {})
        if method == "Target.attachedToTarget":
            self._prepare(params["sessionId"], params["targetInfo"]["targetId"])
        elif method == "Target.detachedFromTarget":
            self._forget(params["sessionId"])
        elif method == "Fetch.requestPaused":
            self._decide(message["sessionId"], params)
        elif "id" in message:
            self._answered(message["id"])

    def _answered(self, number: int) -> None:
        if target := self._awaited.pop(number, None):
            self._targets.add(target)
        if not self._awaited:
            self.settled.set()

    def _prepare(self, session: str, target: str) -> None:
        self._sessions[session] = target
        self._awaited[self._send("Fetch.enable", {"patterns": self._patterns}, session)] = target
        self._send("Target.setAutoAttach", _ATTACH, session)
        self._send("Runtime.runIfWaitingForDebugger", {}, session)

    def _forget(self, session: str) -> None:
        if target := self._sessions.pop(session, None):
            self._targets.discard(target)
        for task in self._asking.pop(session, ()):
            task.cancel()

    def _decide(self, session: str, paused: Object) -> None:
        asking = self._admits(paused)
        if asking is None:
            self._send("Fetch.continueRequest", {"requestId": paused["requestId"]}, session)
            return
        open_ones = self._asking.setdefault(session, set())
        open_ones.add(asking)

        def decided(done: asyncio.Task[bool]) -> None:
            open_ones.discard(done)
            if not self.link.over and session in self._sessions:
                self._answer(session, paused["requestId"], admitted=not done.cancelled() and not done.exception() and done.result())

        asking.add_done_callback(decided)

    def _answer(self, session: str, request: str, *, admitted: bool) -> None:
        if admitted:
            self._send("Fetch.continueRequest", {"requestId": request}, session)
        else:
            self._send("Fetch.failRequest", {"requestId": request, "errorReason": "BlockedByClient"}, session)

    def _send(self, method: str, params: Mapping[str, Any], session: str | None = None) -> int:
        self._last += 1
        address = {"sessionId": session} if session else {}
        self.link.send(self._peer, encode({"id": self._last, "method": method, "params": dict(params), **address}))
        return self._last


def patterns_of(subjects: frozenset[str]) -> list[Object]:
    """Return which requests the browser pauses, as `Fetch.enable` takes them."""
    kinds = SENDERS if "submit" in subjects else NAVIGATIONS if "navigation" in subjects else ()
    return [{"urlPattern": "*", "resourceType": kind, "requestStage": "Request"} for kind in kinds]


def subjects_of(paused: Object) -> frozenset[str]:
    """Return what a paused request is: the opening of a page, the sending of data, both or neither."""
    opens, sends = paused.get("resourceType") == "Document", paused["request"]["method"] not in READS
    return frozenset(name for name, holds in (("navigation", opens), ("submit", sends)) if holds)


def _is_persons(holding: Holding) -> bool:
    """Whether a person drives the pages: then nothing is held up, and what is private is nobody's question."""
    return holding.private is not None or (holding.state == "human" and "cdp" in holding.reach)


def _kept(file: JsonFile, *, configured: bool) -> frozenset[str]:
    """Read the subjects. What cannot be read may have been all of them."""
    try:
        kept = file.read()
        return frozenset(kept) & SUBJECTS if kept is not None else SUBJECTS if configured else frozenset()
    except (OSError, TypeError, ValueError):
        log.exception("what approval rules are about cannot be read: all requests are held up until the API tells")
        return SUBJECTS
