"""The gate of requests: documents and sent data that approval rules are about wait until they are admitted.

A client of this process's own has Chromium pause requests (domain Fetch) in the browser's own session. There they pass
last, after every interception of other clients: what goes on is what was admitted. Every tab, frame and worker is
included from its first request, however it was opened. The gate holds whether the API runs or not.
"""

import asyncio
import base64
import json
import logging
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from sandbox_server.cdp.browser_connection import COMMAND_TIMEOUT, BrowserLink
from sandbox_server.cdp.command_rules import OWNER
from sandbox_server.cdp.devtools_clients import DevtoolsClient
from sandbox_server.cdp.messages import Object, encode
from sandbox_server.cdp.outbox import Outbox
from sandbox_server.cdp.policy_reload import OWN_PAGES
from sandbox_server.cdp.request_decisions import RequestDecisions
from sandbox_server.core.control import Holding
from sandbox_server.core.errors import Failure
from sandbox_server.core.tasks import Tasks, in_thread
from sandbox_server.drivers.egress.body_summary import UNKNOWN_BODY, body_summary
from sandbox_server.drivers.storage.json_file import JsonFile

SUBJECTS = frozenset({"navigation", "submit", "download"})
"""What rules for the browser are about: pages that open, data that is sent, and files that are handed over."""
READS = frozenset({"GET", "HEAD", "OPTIONS"})
NAVIGATIONS = ("Document",)
SENDERS = ("Document", "XHR", "Fetch", "Ping", "CSPViolationReport", "Other")
"""The types of requests by which a page sends data."""
KEPT_ALIVE = frozenset({"Ping"})
"""The types of requests that are sent although their page has gone."""
_FIND = {"autoAttach": True, "waitForDebuggerOnStart": False, "flatten": True}
_LEAVE = {"autoAttach": False, "waitForDebuggerOnStart": False, "flatten": True}

log = logging.getLogger(__name__)


class RequestGate:
    """Keeps the gate in force in the browser, also after its restarts.

    `file` keeps the subjects for the next process. Until the API has told any, `configured` says whether there are rules.
    """

    def __init__(self, decisions: RequestDecisions, holding: Callable[[], Holding], file: JsonFile, *, configured: bool) -> None:
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
        self._changing = asyncio.Lock()
        self.in_force: list[str] = []
        """The subjects that hold in the browser."""

    async def change(self, subjects: frozenset[str]) -> None:
        """Hold up requests for other subjects; returns when it holds. A browser that cannot be gated is ended."""
        subjects &= SUBJECTS
        async with self._changing:
            await in_thread(self._file.write, sorted(subjects))
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
            else:
                await self._begin(link, patterns)
            if "download" in subjects:
                await link.reset_downloads()
            self.in_force = sorted(subjects)

    async def close(self) -> None:
        """Disconnect from the browser."""
        await self._tasks.close()

    async def _begin(self, link: BrowserLink, patterns: Sequence[Object]) -> None:
        if self._follower is None or self._follower.link is not link:
            await self._end()
            self._follower = _Follower(link, *await link.attach(OWNER, None), self._admits)
            self._following = self._tasks.start(self._follower.follow(), name="gate of requests")
        elif self._follower.patterns == patterns:
            return
        settled = self._follower.pause(patterns)
        try:
            async with asyncio.timeout(COMMAND_TIMEOUT):
                await settled.wait()
        except TimeoutError:
            log.warning("a page does not answer: what it requests before it answers is not held up")

    async def _end(self) -> None:
        if self._following:
            self._following.cancel()
            await asyncio.wait([self._following])
        self._follower = self._following = None

    def _admits(self, paused: Object) -> "asyncio.Task[bool] | None":
        """Ask whether a request goes on; None if no rule can be about it."""
        subjects = sorted(subjects_of(paused) & self.subjects)
        url, method = paused["request"]["url"], paused["request"]["method"]
        if not subjects or _is_persons(self._holding()) or (method == "GET" and url.startswith(OWN_PAGES)):
            return None
        question = {"subjects": subjects, "url": url, "method": method, "body": body_of(paused["request"])}
        return self._tasks.start(self._decisions.ask(question), name="admission of a request")


class _Follower:
    """A client on one browser, which pauses requests and has each of them decided."""

    def __init__(
        self, link: BrowserLink, peer: DevtoolsClient, outbox: Outbox, admits: "Callable[[Object], asyncio.Task[bool] | None]"
    ) -> None:
        self.link = link
        self.patterns: Sequence[Object] = ()
        """The requests that are paused."""
        self._settled = asyncio.Event()
        self._over = False
        self._peer = peer
        self._outbox = outbox
        self._admits = admits
        self._last = 0
        self._awaited: set[int] = set()
        self._asking: dict[asyncio.Task[bool], str] = {}
        """What is being decided, and the frame that it is for."""

    async def follow(self) -> None:
        """Serve until the browser ends or the task is cancelled. A browser that cannot be followed is ended."""
        try:
            while (message := await self._outbox.get()) is not None:
                self._take(json.loads(message))  # a page may send half a surrogate pair, which orjson refuses
        except BaseException as error:
            if not isinstance(error, asyncio.CancelledError):
                self.link.close("the gate of its requests ended")
            raise
        else:
            self.link.close("the gate of its requests ended")  # which has no effect on one that has ended itself
        finally:
            self._over = True
            for task in self._asking:
                task.cancel()
            self.link.detach(self._peer)
            self._settled.set()

    def pause(self, patterns: Sequence[Object]) -> asyncio.Event:
        """Have these requests paused from now on. Those that are paused stay so.

        The event that is returned is set when this holds in all that was open before, too.
        """
        self.patterns, self._settled = patterns, asyncio.Event()
        self._await("Fetch.enable", {"patterns": patterns})
        self._await("Target.setDiscoverTargets", {"discover": True, "filter": [{"type": "page"}, {"type": "iframe"}]})
        self._await("Target.setAutoAttach", _FIND)
        return self._settled

    def _take(self, message: Object) -> None:
        method, params = message.get("method"), message.get("params", {})
        if method == "Fetch.requestPaused":
            if "sessionId" not in message:
                self._decide(params)
        elif method == "Target.attachedToTarget":
            if not self._settled.is_set():
                self._renew(params["sessionId"], params["targetInfo"])
        elif method == "Target.targetDestroyed":
            self._withdraw(params["targetId"])
        elif message.get("id") in self._awaited:
            self._answered(message)

    def _answered(self, message: Object) -> None:
        self._awaited.discard(message["id"])
        if not self._awaited and not self._settled.is_set():
            self._settled.set()
            self._send("Target.setAutoAttach", _LEAVE)

    def _renew(self, session: str, info: Object) -> None:
        """Include what a target that was there before requests from now on: its connections to the network are made anew.

        Those of a shared worker cannot be, and it is ended.
        """
        if info["type"] == "shared_worker":
            self._await("Target.closeTarget", {"targetId": info["targetId"]})
            return
        self._await("Fetch.enable", {"patterns": []}, session)
        self._await("Fetch.disable", {}, session)
        self._await("Target.setAutoAttach", _FIND, session)

    def _withdraw(self, frame: str) -> None:
        """Withdraw the questions of a page that has gone. What it has not sent yet, it does not send."""
        for task in [task for task, asker in self._asking.items() if asker == frame]:
            task.cancel()

    def _decide(self, paused: Object) -> None:
        asking = self._admits(paused)
        if asking is None:
            self._answer(paused["requestId"], admitted=True)
            return
        self._asking[asking] = "" if paused.get("resourceType") in KEPT_ALIVE else paused.get("frameId", "")

        def decided(done: asyncio.Task[bool]) -> None:
            self._asking.pop(done, None)
            if not self._over:
                self._answer(paused["requestId"], admitted=not done.cancelled() and not done.exception() and done.result())

        asking.add_done_callback(decided)

    def _answer(self, request: str, *, admitted: bool) -> None:
        if admitted:
            self._send("Fetch.continueRequest", {"requestId": request})
        else:
            self._send("Fetch.failRequest", {"requestId": request, "errorReason": "BlockedByClient"})

    def _await(self, method: str, params: Mapping[str, Any], session: str | None = None) -> None:
        self._awaited.add(self._send(method, params, session))

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
    request = paused["request"]
    opens, sends = paused.get("resourceType") == "Document", request["method"] not in READS or request.get("hasPostData", False)
    return frozenset(name for name, holds in (("navigation", opens), ("submit", sends)) if holds)


def body_of(request: Object) -> Mapping[str, object] | None:
    """Return the summary of the body of a request that the browser describes; None if it has none."""
    if not request.get("hasPostData"):
        return None
    entries = request.get("postDataEntries") or ()
    if entries and all("bytes" in entry for entry in entries):  # of files it tells nothing
        return body_summary(b"".join(base64.b64decode(entry["bytes"]) for entry in entries))
    return UNKNOWN_BODY


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
