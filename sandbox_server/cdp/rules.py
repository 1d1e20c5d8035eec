"""What a client of the multiplexer may send: the one place where that is decided."""

import posixpath
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from sandbox_server.cdp.wire import Command
from sandbox_server.core.results import Caller

KEPT = ("/run", "/var/run", "/var/lock", "/proc", "/sys", "/dev")
"""Where the browser's own profile, its descriptors and the desktop's sockets are. Its files are read and written as the desktop's user,
so a client may name none of these, though that user may open them."""
_UNSEEN = {
    "Target.exposeDevToolsProtocol": "it would hand the whole protocol to a page",
    "Target.sendMessageToTarget": "attach with flatten and address the session instead",
}
"""Ways past this function: commands that carry others inside."""
_PATHS: Mapping[str, Callable[[Mapping[str, Any]], object]] = {
    "DOM.setFileInputFiles": lambda params: params.get("files"),
    "Input.dispatchDragEvent": lambda params: _object(params.get("data")).get("files"),
    "Browser.setDownloadBehavior": lambda params: params.get("downloadPath"),
    "Page.setDownloadBehavior": lambda params: params.get("downloadPath"),
    "Extensions.loadUnpacked": lambda params: params.get("path"),
}
"""Where commands name files for the browser to read or write."""


def refusal(caller: Caller, command: Command) -> str | None:
    """Why `caller` may not send `command`; None when it may."""
    if not caller.may("browser"):
        return "the caller lacks the scope browser"
    if reason := _UNSEEN.get(command.method):
        return f"{command.method} is not available here: {reason}"
    if path := next((path for path in _named(command) if is_kept(path)), None):
        return f"{command.method} may not name {path!r}: the browser's own files are there"
    return None


def is_kept(path: str) -> bool:
    """Whether a path leads to where no client may send the browser."""
    whole = posixpath.normpath("/" + path.lstrip("/"))
    return any(whole == kept or whole.startswith(f"{kept}/") for kept in KEPT)


def _named(command: Command) -> Iterator[str]:
    if find := _PATHS.get(command.method):
        found = find(_object(command.parsed.get("params")))
        yield from (path for path in (found if isinstance(found, list) else [found]) if isinstance(path, str))


def _object(value: object) -> Mapping[str, Any]:
    return value if isinstance(value, dict) else {}
