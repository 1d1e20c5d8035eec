"""What a client of the multiplexer may send: the one place where that is decided."""

from sandbox_server.cdp.effects import acts
from sandbox_server.cdp.wire import Command
from sandbox_server.core.control import Holding
from sandbox_server.core.results import Caller

OWN = "server"
"""The scope of our own clients, which no credential gives: what they do was judged where it was asked for."""

_UNSEEN = {
    "Target.exposeDevToolsProtocol": "it would hand the whole protocol to a page",
    "Target.sendMessageToTarget": "attach with flatten and address the session instead",
}
"""Ways past these rules: commands that carry others inside."""


class Rules:
    """The rules as they are now; `holding` says who may act, whatever may be looked at."""

    def __init__(self, holding: Holding | None = None) -> None:
        self.holding = holding or Holding()

    def refusal(self, caller: Caller, command: Command) -> str | None:
        """Why `caller` may not send `command`; None when it may."""
        if not caller.may("browser"):
            return "the caller lacks the scope browser"
        if reason := _UNSEEN.get(command.method):
            return f"{command.method} is not available here: {reason}"
        if not self.admits(caller) and acts(command):
            return f"held_by_human: {self.holding.refusal().message} (epoch {self.holding.epoch})"
        return None

    def admits(self, caller: Caller) -> bool:
        """Whether `caller` may act on pages now."""
        return caller.may(OWN) or self.holding.admits(caller, "cdp")
