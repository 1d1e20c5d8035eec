"""What a client of the multiplexer may send: the one place where that is decided."""

from sandbox_server.cdp.wire import Command
from sandbox_server.core.results import Caller

_UNSEEN = {
    "Target.exposeDevToolsProtocol": "it would hand the whole protocol to a page",
    "Target.sendMessageToTarget": "attach with flatten and address the session instead",
}
"""Ways past this function: commands that carry others inside."""


def refusal(caller: Caller, command: Command) -> str | None:
    """Why `caller` may not send `command`; None when it may."""
    if not caller.may("browser"):
        return "the caller lacks the scope browser"
    if reason := _UNSEEN.get(command.method):
        return f"{command.method} is not available here: {reason}"
    return None
