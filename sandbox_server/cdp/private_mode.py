"""DevTools in private mode: what a client that may not see pages still receives, and what is withheld.

Commands that are not listed here are refused and events that are not listed are dropped, also those of newer browsers.
A client keeps its sessions. Pages, frames and contexts that come and go are reported without content, so that it can
continue afterwards.
"""

import re
from typing import Any

import orjson

from sandbox_server.cdp.command_effects import acts
from sandbox_server.cdp.messages import BrowserMessage, DevtoolsCommand, Object, encode
from sandbox_server.cdp.methods import effect_of

HELD_UP = {
    "Network.enable": ("Network.disable", "Network.enable"),
    "Page.startScreencast": ("Page.stopScreencast", "Page.startScreencast"),
    "Tracing.start": ("Tracing.end", None),
}
"""Commands that make the browser collect events or pause, each with the commands that stop and restart that."""
_ENDS = {
    "Network.disable": "Network.enable",
    "Page.stopScreencast": "Page.startScreencast",
    "Tracing.end": "Tracing.start",
    "Page.disable": "Page.enable",
}
CAUGHT_UP = {"Page.enable": "Page.getFrameTree", "Target.setDiscoverTargets": "Target.getTargets"}
"""Commands that report URLs, each with the query that catches up afterwards."""

_NEUTRAL = frozenset(
    f"{domain}.{name}"
    for domain, names in {
        "Inspector": "detached targetCrashed",
        "Page": "domContentEventFired frameAttached frameDetached frameNavigated frameStartedLoading frameStoppedLoading lifecycleEvent "
        "loadEventFired navigatedWithinDocument",
        "Runtime": "executionContextCreated executionContextDestroyed executionContextsCleared",
        "Target": "attachedToTarget detachedFromTarget targetCrashed targetCreated targetDestroyed",
    }.items()
    for name in names.split()
)
_EVENT = re.compile(rb'\{"method":"([A-Za-z]+\.[A-Za-z]+)"')
_BLANK: dict[str, str] = dict.fromkeys(
    ("urlFragment", "title", "domainAndRegistry", "faviconUrl", "unreachableUrl", "origin", "securityOrigin"), ""
) | {"url": "about:blank"}


class CollectedEvents:
    """What one client has started that must stop while it may not see pages, by session and command."""

    def __init__(self) -> None:
        self._begun: dict[tuple[str, str], Object] = {}

    def note(self, session: str, command: DevtoolsCommand) -> None:
        """Record a command of the client."""
        params: Any = command.parsed.get("params")
        given = params if isinstance(params, dict) else {}
        if command.method in HELD_UP or command.method in CAUGHT_UP:
            self._begun[session, command.method] = given
        elif begun := _ENDS.get(command.method):
            self._begun.pop((session, begun), None)

    def forget(self, session: str) -> None:
        """Forget a session that ended, and what was started in it."""
        self._begun = {at: params for at, params in self._begun.items() if at[0] != session}

    def stops(self) -> list[tuple[str, str, Object]]:
        """Return the commands that stop all of it, with their sessions."""
        found: list[tuple[str, str, Object]] = []
        for (session, method), _ in list(self._begun.items()):
            if method not in HELD_UP:
                continue
            end, again = HELD_UP[method]
            found.append((session, end, {}))
            if again is None:
                del self._begun[session, method]
        return found

    def starts(self) -> list[tuple[str, str, Object]]:
        """Return the commands that start all of it again, with their sessions."""
        return [
            (session, again, params)
            for (session, method), params in self._begun.items()
            if method in HELD_UP and (again := HELD_UP[method][1])
        ]

    def missed(self) -> list[tuple[str, str]]:
        """Return the queries, with their sessions, by which the client catches up."""
        return [(session, CAUGHT_UP[method]) for session, method in self._begun if method in CAUGHT_UP]


def is_quiet(command: DevtoolsCommand) -> bool:
    """Whether the result of a command reveals nothing of a page."""
    if command.method == "Page.addScriptToEvaluateOnNewDocument":
        return not acts(command)
    return effect_of(command.method) == "quiet"


def neutral(arrival: BrowserMessage) -> BrowserMessage | None:
    """Return an event without page content; None if the event is withheld."""
    found = _EVENT.match(arrival.message)
    if found is None or found[1].decode() not in _NEUTRAL:
        return None
    return blanked(arrival, names=found[1].startswith(b"Page."))


def blanked(arrival: BrowserMessage, *, names: bool = True) -> BrowserMessage:
    """Return a message without URLs and titles; with `names`, without window names too."""
    blank = _BLANK | ({"name": ""} if names else {})
    return arrival._replace(message=encode(_without(orjson.loads(arrival.message), blank)))


def caught_up(method: str, result: Object) -> list[Object]:
    """Return events with the current state of frames and targets."""
    if method == "Target.getTargets":
        return [{"method": "Target.targetInfoChanged", "params": {"targetInfo": info}} for info in result.get("targetInfos", ())]
    return [
        {"method": "Page.navigatedWithinDocument", "params": {"frameId": frame["id"], "url": frame["url"], "navigationType": "other"}}
        for frame in _frames(result["frameTree"])
    ]


def _frames(tree: Object) -> list[Object]:
    return [tree["frame"], *(frame for child in tree.get("childFrames", ()) for frame in _frames(child))]


def _without(value: Any, blank: dict[str, str]) -> Any:
    if isinstance(value, dict):
        return {key: blank[key] if key in blank and isinstance(each, str) else _without(each, blank) for key, each in value.items()}
    return [_without(each, blank) for each in value] if isinstance(value, list) else value
