"""The rules for what a DevTools client may send. All such decisions are made here."""

import posixpath
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from sandbox_server.cdp.command_effects import acts
from sandbox_server.cdp.messages import DevtoolsCommand
from sandbox_server.cdp.methods import effect_of
from sandbox_server.cdp.private_mode import is_quiet
from sandbox_server.core.control import ON_SCREEN, Holding
from sandbox_server.core.identity import ALL_SCOPES, Caller

OWN = "server"
"""The scope of the server's own clients. No credential grants it; their calls were authorized where they were made."""
OWNER = Caller("owner", ALL_SCOPES | {OWN})
"""This process itself, as the client that follows pages."""
KEPT = ("/run", "/var/run", "/var/lock", "/proc", "/sys", "/dev")
"""Directories of the browser's profile, its descriptors and the desktop's sockets. Chromium reads and writes files as
the user `desktop`, who may open these paths. So no client may name them.
"""
SEALED = ("devtools:",)
"""URL schemes of the browser's own tools. Their driver could drive the inspected page past these rules."""
_SHUT = (*SEALED, "chrome-devtools:", "chrome://inspect", "chrome://flags", "chrome://extensions")
ON_TARGETS = frozenset({"Fetch.enable"})
"""Methods that clients may not send to the browser's own session: requests are held up for approval there, and no other
client may change them afterwards.
"""
ONLY_ON_TARGETS = "is available in the sessions of pages and workers, and not in the browser's own"
DOWNLOADS = frozenset({"Browser.setDownloadBehavior", "Page.setDownloadBehavior"})
_OPENS = frozenset({"Target.createTarget", "Page.navigate"})
_PATHS: Mapping[str, Callable[[Mapping[str, Any]], object]] = {
    "DOM.setFileInputFiles": lambda params: params.get("files"),
    "Input.dispatchDragEvent": lambda params: _object(params.get("data")).get("files"),
    "Browser.setDownloadBehavior": lambda params: params.get("downloadPath"),
    "Page.setDownloadBehavior": lambda params: params.get("downloadPath"),
    "Extensions.loadUnpacked": lambda params: params.get("path"),
}
"""The parameters in which commands name files for the browser to read or write."""


class ClientRules:
    """The rules in their current state. `holding` is the lease: who may act and who may see."""

    def __init__(self, holding: Holding | None = None, *, extensions: bool = False) -> None:
        self.holding = holding or Holding()
        self._extensions = extensions
        self.keeps_downloads: Callable[[], bool] = lambda: False
        """Whether rules are about downloads: then clients choose no other place for them than the sandbox."""

    def never(self, caller: Caller, command: DevtoolsCommand) -> str | None:
        """Return why `caller` may not send `command` even while nobody else drives; None if it may."""
        return refusal(caller, command, extensions=self._extensions)

    def kept_in_place(self, caller: Caller, command: DevtoolsCommand) -> DevtoolsCommand:
        """Return a command as it is sent: one that would save downloads elsewhere leaves them where they are handed over from."""
        params = _object(command.parsed.get("params"))
        if command.method not in DOWNLOADS or caller is OWNER or params.get("behavior") == "deny" or not self.keeps_downloads():
            return command
        left = {name: value for name, value in params.items() if name != "downloadPath"}
        return command._replace(parsed={**command.parsed, "params": {**left, "behavior": "default"}})

    def refusal(self, caller: Caller, command: DevtoolsCommand) -> str | None:
        """Return why `caller` may not send `command` now; None if it may."""
        if reason := self.never(caller, command):
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
        """The error text for clients that may not see pages."""
        return f"{self.holding.hidden().message} (epoch {self.holding.epoch})"

    def admits(self, caller: Caller) -> bool:
        """Whether `caller` may act on pages now."""
        return caller.may(OWN) or self.holding.admits(caller, "cdp")

    def trusts(self, caller: Caller) -> bool:
        """Whether the caller is one of the sandbox's own processes."""
        return caller.may(OWN)

    def rests(self, caller: Caller) -> bool:
        """Whether the overrides of `caller` are suspended now, because another person has the pages."""
        if caller is OWNER:
            return False
        held = self.holding.state == "human" and bool(self.holding.reach & ON_SCREEN) and not self.holding.is_holder(caller)
        return held or not self.holding.sees(caller)


def refusal(caller: Caller, command: DevtoolsCommand, *, extensions: bool = False) -> str | None:
    """Return why `caller` may never send `command`; None if it may while nobody else drives."""
    if not caller.may("browser"):
        return "the caller lacks the scope browser"
    effect = effect_of(command.method)
    if effect is None:
        return f"{command.method} is not available here: it is not in Tandem's list of methods"
    if effect == "refused":
        return f"{command.method} is not available here: it reaches past what clients may do"
    if effect == "extends" and not extensions:
        return f"{command.method} is not available here: BROWSER_EXTENSIONS allows extensions"
    if caller.may(OWN):
        return None
    if command.method in _OPENS and is_shut(_object(command.parsed.get("params")).get("url")):
        return f"{command.method} may not open the browser's own tools"
    if path := next((path for path in _named(command) if is_kept(path)), None):
        return f"{command.method} may not name {path!r}: the browser's own files are there"
    return None


def sealed(info: Mapping[str, Any]) -> bool:
    """Whether a target is one of the browser's own tools."""
    return str(info.get("url", "")).startswith(SEALED)


def is_shut(url: object) -> bool:
    """Whether a URL, parsed as browsers parse URLs, belongs to the browser's own tools."""
    if not isinstance(url, str):
        return False
    plain = "".join(url.split()).lower().replace("\\", "/").replace("view-source:", "").replace("about://", "chrome://")
    scheme, _, rest = plain.partition(":")
    whole = f"{scheme}://{rest.lstrip('/')}" if scheme in ("chrome", "about") else plain
    return whole.replace("about://", "chrome://").startswith(_SHUT)


def is_kept(path: str) -> bool:
    """Whether a path leads into a directory that clients may not name."""
    whole = posixpath.normpath("/" + path.lstrip("/"))
    return any(whole == kept or whole.startswith(f"{kept}/") for kept in KEPT)


def _named(command: DevtoolsCommand) -> Iterator[str]:
    if find := _PATHS.get(command.method):
        found = find(_object(command.parsed.get("params")))
        yield from (path for path in (found if isinstance(found, list) else [found]) if isinstance(path, str))


def _object(value: object) -> Mapping[str, Any]:
    return value if isinstance(value, dict) else {}
