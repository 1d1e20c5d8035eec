"""Hidden browser contexts: no client sees, lists or attaches to their windows. Each belongs to one person.

They are recognised by the ids in events, in results and in clients' commands.
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
    """The hidden contexts and targets of one browser."""

    def __init__(self) -> None:
        self._contexts: set[str] = set()
        self._targets: dict[str, None] = {}

    def add(self, context: str) -> None:
        """Hide a context. Call it before the context has any page."""
        self._contexts.add(context)

    def holds(self, params: Object) -> bool:
        """Whether an event concerns a hidden target. The target is remembered for events that carry only its id."""
        info = params.get("targetInfo")
        if isinstance(info, dict):
            return self.has(info)
        return params.get("targetId") in self._targets

    def has(self, info: Object) -> bool:
        """Whether a target, given Chromium's description of it, is in a hidden context."""
        if info.get("browserContextId") not in self._contexts:
            return False
        self._targets[str(info.get("targetId"))] = None
        if len(self._targets) > MAX_TARGETS:
            del self._targets[next(iter(self._targets))]
        return True

    def knows(self, target: str | None) -> bool:
        """Whether an id belongs to a hidden target."""
        return target in self._targets

    def named(self, params: object) -> bool:
        """Whether a command names a hidden target or context."""
        if not self._contexts or not isinstance(params, dict):
            return False
        return any(isinstance(each, str) and (each in self._contexts or each in self._targets) for each in params.values())

    def event(self, arrival: BrowserMessage) -> Object | None:
        """Return the parsed event if it concerns a hidden target, else None."""
        if not self._contexts or not arrival.message.startswith(_EVENTS):
            return None
        event: Object = orjson.loads(arrival.message)
        return event if self.holds(event["params"]) else None

    def reply(self, method: str, arrival: BrowserMessage) -> BrowserMessage:
        """Return a reply to a method that lists targets, without the hidden ones."""
        if not self._contexts or method not in _LISTS:
            return arrival
        reply = orjson.loads(arrival.message)
        return arrival._replace(message=encode(reply | {"result": self.without(reply["result"])})) if "result" in reply else arrival

    def without(self, result: Object) -> Object:
        """Return a result without hidden targets and contexts."""
        left: dict[str, Any] = {}
        if "targetInfos" in result:
            left["targetInfos"] = [info for info in result["targetInfos"] if not self.has(info)]
        if "browserContextIds" in result:
            left["browserContextIds"] = [each for each in result["browserContextIds"] if each not in self._contexts]
        return result | left
