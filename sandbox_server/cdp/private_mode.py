"""DevTools while a person is private: what goes on for clients that may not see, and what stands still until it ends.

Whatever is not listed here is refused, and whatever event is not listed is dropped, those of newer browsers too. A client keeps its
sessions: pages, frames and contexts that come and go are told without a word of what is in them, so that it finds its way when it may see
again.
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
"""What has the browser collect for a client, or stop for it: each with what ends that, and what begins it again."""
_ENDS = {
    "Network.disable": "Network.enable",
    "Page.stopScreencast": "Page.startScreencast",
    "Tracing.end": "Tracing.start",
    "Page.disable": "Page.enable",
}
CAUGHT_UP = {"Page.enable": "Page.getFrameTree", "Target.setDiscoverTargets": "Target.getTargets"}
"""What a client learns addresses by, each with what they are asked for afterwards."""

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
    """What has been begun for one client that must not go on while it may not see, by session and command."""

    def __init__(self) -> None:
        self._begun: dict[tuple[str, str], Object] = {}

    def note(self, session: str, command: DevtoolsCommand) -> None:
        """Take a command that the client sent."""
        params: Any = command.parsed.get("params")
        given = params if isinstance(params, dict) else {}
        if command.method in HELD_UP or command.method in CAUGHT_UP:
            self._begun[session, command.method] = given
        elif begun := _ENDS.get(command.method):
            self._begun.pop((session, begun), None)

    def forget(self, session: str) -> None:
        """A session ended, and with it what was begun in it."""
        self._begun = {at: params for at, params in self._begun.items() if at[0] != session}

    def stops(self) -> list[tuple[str, str, Object]]:
        """Sessions and commands that end all of it."""
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
        """Sessions and commands that begin it again."""
        return [
            (session, again, params)
            for (session, method), params in self._begun.items()
            if method in HELD_UP and (again := HELD_UP[method][1])
        ]

    def missed(self) -> list[tuple[str, str]]:
        """Sessions and what to ask in them, by which the client learns what it was not told."""
        return [(session, CAUGHT_UP[method]) for session, method in self._begun if method in CAUGHT_UP]


def is_quiet(command: DevtoolsCommand) -> bool:
    """Whether a command tells a client nothing of a page."""
    if command.method == "Page.addScriptToEvaluateOnNewDocument":
        return not acts(command)
    return effect_of(command.method) == "quiet"


def neutral(arrival: BrowserMessage) -> BrowserMessage | None:
    """An event without a word of what is on a page; None for one that is not told at all."""
    found = _EVENT.match(arrival.message)
    if found is None or found[1].decode() not in _NEUTRAL:
        return None
    return blanked(arrival, names=found[1].startswith(b"Page."))


def blanked(arrival: BrowserMessage, *, names: bool = True) -> BrowserMessage:
    """A message without addresses and titles, nor, with `names`, what windows are called."""
    blank = _BLANK | ({"name": ""} if names else {})
    return arrival._replace(message=encode(_without(orjson.loads(arrival.message), blank)))


def caught_up(method: str, result: Object) -> list[Object]:
    """Events that tell a client where frames and targets are by now."""
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
