"""Decides by method and parameters whether a command may change what a person sees or uses.

A method that is not known to be harmless counts as acting.
"""

from typing import Any

from sandbox_server.cdp.messages import DevtoolsCommand
from sandbox_server.cdp.methods import METHODS

_LOOKING = frozenset({"quiet", "looks"})


def acts(command: DevtoolsCommand) -> bool:
    """Whether a command may change what a person sees or uses."""
    if command.method == "Page.addScriptToEvaluateOnNewDocument":
        return not names_a_world(command)
    method = METHODS.get(command.method)
    if method is None or not _given(command) <= method.parameters:
        return True
    return method.effect not in _LOOKING


def names_a_world(command: DevtoolsCommand) -> bool:
    """Whether a script for new documents is empty and only names an isolated world.

    Clients set up every page with one.
    """
    source = _parameters(command).get("source")
    return isinstance(source, str) and all(not line.strip() or line.lstrip().startswith("//") for line in _lines(source))


def _given(command: DevtoolsCommand) -> set[str]:
    """The parameters that are set to something other than off."""
    return {name for name, value in _parameters(command).items() if value is not None and value is not False}


def _parameters(command: DevtoolsCommand) -> dict[str, Any]:
    params: Any = command.parsed.get("params")
    return params if isinstance(params, dict) else {}


def _lines(source: str) -> list[str]:
    """Split a source where JavaScript ends lines, which also ends a comment."""
    for end in ("\r", "\u2028", "\u2029"):
        source = source.replace(end, "\n")
    return source.split("\n")
