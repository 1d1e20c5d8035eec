"""Browser contexts that clients do not see: they list, attach to and name nothing of them.

A private window's context belongs to one person, and no client sees it. A lane's context is all that the clients of that
lane see, and no other client sees it. They are recognised by the ids in events, in results and in clients' commands.
"""

from typing import Any

import orjson

from sandbox_server.cdp.messages import BrowserMessage, Object, encode

MAX_TARGETS = 10_000
"""Limit of remembered targets. If one is forgotten, clients may receive its end, with an id that they never saw."""
_EVENTS = b'{"method":"Target.'
_LISTS = frozenset({"Target.getTargets", "Target.getTargetInfo", "Target.getBrowserContexts"})
UNKNOWN = "No target with given id found"
"""Chromium's error text (content/browser/devtools/protocol/target_handler.cc)."""


class HiddenTargets:
    """The contexts of one browser that are apart, and their targets.

    `lane` is the context of the lane that a client is in, and None for a client in none.
    """

    def __init__(self) -> None:
        self._contexts: set[str] = set()
        self._lanes: set[str] = set()
        self._targets: dict[str, str] = {}

    def add(self, context: str) -> None:
        """Hide a context from every client. Call it before the context has any page."""
        self._contexts.add(context)

    def add_lane(self, context: str) -> None:
        """Hide a context from the clients that are not in its lane. Call it before the context has any page."""
        self._contexts.add(context)
        self._lanes.add(context)

    def of_clients(self, contexts: list[str]) -> list[str]:
        """Return the contexts that some client may use."""
        return [each for each in contexts if each not in self._contexts or each in self._lanes]

    def holds(self, params: Object, lane: str | None = None) -> bool:
        """Whether an event concerns a hidden target. The target is remembered for events that carry only its id."""
        info = params.get("targetInfo")
        if isinstance(info, dict):
            return self.has(info, lane)
        return "targetId" in params and self.knows(params["targetId"], lane)

    def has(self, info: Object, lane: str | None = None) -> bool:
        """Whether a target, given Chromium's description of it, is hidden from a client."""
        context = info.get("browserContextId")
        if context in self._contexts:
            self._targets[str(info.get("targetId"))] = str(context)
            if len(self._targets) > MAX_TARGETS:
                del self._targets[next(iter(self._targets))]
        return context != lane if lane else context in self._contexts

    def knows(self, target: str | None, lane: str | None = None) -> bool:
        """Whether an id belongs to a hidden target. In a lane, that is every one but those of the lane."""
        context = self._targets.get(str(target))
        return context != lane if lane else context is not None

    def named(self, params: object) -> bool:
        """Whether a command of a client in no lane names a hidden target or context."""
        if not self._contexts or not isinstance(params, dict):
            return False
        return any(isinstance(each, str) and (each in self._contexts or each in self._targets) for each in params.values())

    def event(self, arrival: BrowserMessage, lane: str | None = None) -> Object | None:
        """Return the parsed event if it concerns a hidden target, else None."""
        if not self._contexts or not arrival.message.startswith(_EVENTS):
            return None
        event: Object = orjson.loads(arrival.message)
        return event if self.holds(event["params"], lane) else None

    def reply(self, method: str, arrival: BrowserMessage, lane: str | None = None) -> BrowserMessage:
        """Return a reply to a method that lists targets, without the hidden ones."""
        if not self._contexts or method not in _LISTS:
            return arrival
        reply = orjson.loads(arrival.message)
        return arrival._replace(message=encode(reply | {"result": self.without(reply["result"], lane)})) if "result" in reply else arrival

    def without(self, result: Object, lane: str | None = None) -> Object:
        """Return a result without hidden targets and contexts."""
        left: dict[str, Any] = {}
        if "targetInfos" in result:
            left["targetInfos"] = [info for info in result["targetInfos"] if not self.has(info, lane)]
        if "browserContextIds" in result:
            left["browserContextIds"] = [
                each for each in result["browserContextIds"] if each == lane or not (lane or each in self._contexts)
            ]
        if lane and "defaultBrowserContextId" in result:
            left["defaultBrowserContextId"] = lane
        return result | left
