"""Browser contexts that are one person's alone: no client sees a window of theirs, lists it or attaches to it, as long as the browser runs.

They are told by their ids, in whatever names targets and contexts: events, results, and the commands of clients.
"""

from typing import Any

import orjson

from sandbox_server.cdp.messages import BrowserMessage, Object, encode

MAX_TARGETS = 10_000
"""Targets that are remembered; the end of one that is forgotten may be told, by an id that nobody knows."""
_EVENTS = b'{"method":"Target.'
_LISTS = frozenset({"Target.getTargets", "Target.getTargetInfo", "Target.getBrowserContexts"})
UNKNOWN = "No target with given id found"
"""Chromium's own words (content/browser/devtools/protocol/target_handler.cc)."""


class HiddenTargets:
    """Those of one browser."""

    def __init__(self) -> None:
        self._contexts: set[str] = set()
        self._targets: dict[str, None] = {}

    def add(self, context: str) -> None:
        """Keep a context from clients, before anything is in it."""
        self._contexts.add(context)

    def holds(self, params: Object) -> bool:
        """Whether an event is of a target that is apart; it is remembered for events that name its id alone."""
        info = params.get("targetInfo")
        if isinstance(info, dict):
            return self.has(info)
        return params.get("targetId") in self._targets

    def has(self, info: Object) -> bool:
        """Whether a target, as Chromium describes it, is in a context that is apart."""
        if info.get("browserContextId") not in self._contexts:
            return False
        self._targets[str(info.get("targetId"))] = None
        if len(self._targets) > MAX_TARGETS:
            del self._targets[next(iter(self._targets))]
        return True

    def knows(self, target: str | None) -> bool:
        """Whether an id is of such a target."""
        return target in self._targets

    def named(self, params: object) -> bool:
        """Whether a command names one of them, or of the contexts."""
        if not self._contexts or not isinstance(params, dict):
            return False
        return any(isinstance(each, str) and (each in self._contexts or each in self._targets) for each in params.values())

    def event(self, arrival: BrowserMessage) -> Object | None:
        """The event, where it is of a target that is apart."""
        if not self._contexts or not arrival.message.startswith(_EVENTS):
            return None
        event: Object = orjson.loads(arrival.message)
        return event if self.holds(event["params"]) else None

    def reply(self, method: str, arrival: BrowserMessage) -> BrowserMessage:
        """A reply to such a method without them."""
        if not self._contexts or method not in _LISTS:
            return arrival
        reply = orjson.loads(arrival.message)
        return arrival._replace(message=encode(reply | {"result": self.without(reply["result"])})) if "result" in reply else arrival

    def without(self, result: Object) -> Object:
        """A result without them."""
        left: dict[str, Any] = {}
        if "targetInfos" in result:
            left["targetInfos"] = [info for info in result["targetInfos"] if not self.has(info)]
        if "browserContextIds" in result:
            left["browserContextIds"] = [each for each in result["browserContextIds"] if each not in self._contexts]
        return result | left
