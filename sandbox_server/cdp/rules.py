"""What a client of the multiplexer may send: the one place where that is decided."""

import posixpath
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from sandbox_server.cdp.effects import acts
from sandbox_server.cdp.privacy import is_quiet
from sandbox_server.cdp.wire import Command
from sandbox_server.core.control import Holding
from sandbox_server.core.results import Caller

OWN = "server"
"""The scope of our own clients, which no credential gives: what they do was judged where it was asked for."""
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


class Rules:
    """The rules as they are now; `holding` says who may act, whatever may be looked at."""

    def __init__(self, holding: Holding | None = None) -> None:
        self.holding = holding or Holding()

    def refusal(self, caller: Caller, command: Command) -> str | None:
        """Why `caller` may not send `command` now; None when it may."""
        if reason := refusal(caller, command):
            return reason
        if not self.sees(caller) and not is_quiet(command):
            return self.hidden
        if not self.admits(caller) and acts(command):
            return f"held_by_human: {self.holding.refusal().message} (epoch {self.holding.epoch})"
        return None

    def sees(self, caller: Caller) -> bool:
        """Whether `caller` may see pages now."""
        return caller.may(OWN) or self.holding.sees(caller)

    @property
    def hidden(self) -> str:
        """Why a client that may not see is told nothing."""
        return f"{self.holding.hidden().message} (epoch {self.holding.epoch})"

    def admits(self, caller: Caller) -> bool:
        """Whether `caller` may act on pages now."""
        return caller.may(OWN) or self.holding.admits(caller, "cdp")


def refusal(caller: Caller, command: Command) -> str | None:
    """Why `caller` may never send `command`; None when it may, while nobody else drives."""
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
