"""What a DevTools client in a lane may send: its commands stay in the lane's context, or are refused.

A method is refused until a table here says that it stays in a context. The rules of `command_rules.py` apply as well.
"""

from typing import Any

import orjson

from sandbox_server.cdp.command_rules import OWNER
from sandbox_server.cdp.devtools_clients import DevtoolsClient
from sandbox_server.cdp.hidden_targets import UNKNOWN, HiddenTargets
from sandbox_server.cdp.messages import BrowserMessage, DevtoolsCommand

_DOMAINS = (
    "Accessibility Animation Audits CSS CacheStorage Console DOM DOMDebugger DOMSnapshot DOMStorage Debugger DeviceOrientation Emulation "
    "EventBreakpoints Fetch HeapProfiler IO IndexedDB Input Inspector LayerTree Log Media Network Overlay Page Performance "
    "PerformanceTimeline Profiler Runtime Schema ServiceWorker WebAudio WebAuthn"
)
IN_PAGES = frozenset(_DOMAINS.split())
"""Domains whose methods act on the session's page or worker, on its renderer, or on the storage of its context.

No two contexts share a renderer.
"""
OF_CONTEXT = frozenset(
    {
        "Browser.cancelDownload",
        "Browser.grantPermissions",
        "Browser.resetPermissions",
        "Browser.setDownloadBehavior",
        "Browser.setPermission",
        "Storage.clearCookies",
        "Storage.getCookies",
        "Storage.setCookies",
        "Target.createTarget",
    }
)
"""Methods that take a context, and else use the browser's default one: they are given the lane's."""
_OF_WINDOW = frozenset({"Browser.getWindowBounds", "Browser.setContentsSize", "Browser.setWindowBounds"})
_OF_ORIGIN = frozenset(
    {"Storage.clearDataForOrigin", "Storage.clearDataForStorageKey", "Storage.getStorageKey", "Storage.getUsageAndQuota"}
)
"""Methods on the storage of a page's own context; Chromium refuses them in sessions that are of no page."""
ANYWHERE = (
    OF_CONTEXT
    | _OF_WINDOW
    | _OF_ORIGIN
    | {
        "Browser.getVersion",
        "Browser.getWindowForTarget",
        "Security.disable",
        "Security.enable",
        "Target.activateTarget",
        "Target.attachToTarget",
        "Target.autoAttachRelated",
        "Target.closeTarget",
        "Target.detachFromTarget",
        "Target.getBrowserContexts",
        "Target.getTargetInfo",
        "Target.getTargets",
        "Target.setAutoAttach",
        "Target.setDiscoverTargets",
    }
)
_WHOLE_PAGES = frozenset({"Security.setIgnoreCertificateErrors"})
"""Methods that stay in a page where they are sent to its session, and are of the whole browser elsewhere."""
OUTSIDE = "is of the whole browser, or not known to stay in a lane: it is not available to clients in one"


def outside(peer: DevtoolsClient, command: DevtoolsCommand, hidden: HiddenTargets) -> str | None:
    """Return why a command would leave what its client may see; None if it does not."""
    params = _object(command.parsed.get("params"))
    if peer.caller is OWNER:
        return None
    if peer.lane is None:
        return UNKNOWN if hidden.named(params) else None
    if not _stays(peer, command):
        return f"{command.method} {OUTSIDE}"
    if params.get("browserContextId", peer.lane) != peer.lane:
        return "Failed to find browser context with id"
    if "targetId" in params and hidden.knows(params["targetId"], peer.lane):
        return UNKNOWN
    if command.method in _OF_WINDOW and params.get("windowId") not in peer.windows:
        return "Browser window not found"
    return None


def in_lane(peer: DevtoolsClient, command: DevtoolsCommand) -> DevtoolsCommand:
    """Return a command with its client's context, if it is of a context."""
    if peer.lane is None or command.method not in OF_CONTEXT:
        return command
    params = _object(command.parsed.get("params"))
    return command._replace(parsed={**command.parsed, "params": {**params, "browserContextId": peer.lane}})


def seen(peer: DevtoolsClient, method: str, arrival: BrowserMessage, hidden: HiddenTargets) -> BrowserMessage:
    """Return a reply without what its client may not see. A window that it tells of is the client's from then on."""
    if peer.caller is OWNER:
        return arrival
    if peer.lane and method == "Browser.getWindowForTarget":
        window = _object(orjson.loads(arrival.message).get("result")).get("windowId")
        if isinstance(window, int):
            peer.windows.add(window)
    return hidden.reply(method, arrival, peer.lane)


def _stays(peer: DevtoolsClient, command: DevtoolsCommand) -> bool:
    of_page = (command.session or peer.base) not in peer.whole
    return command.method in ANYWHERE or (of_page and (command.method.partition(".")[0] in IN_PAGES or command.method in _WHOLE_PAGES))


def _object(value: object) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}
