"""The variables of hooks, a section of `settings`. Stdlib only, for the sake of boot."""

import json
from dataclasses import dataclass

from sandbox_server.settings.kinds import BOOLEAN, TEXT, Kind, seconds, variable


@dataclass(frozen=True, slots=True)
class ShutdownHook:
    """A command that runs as the agent while the container stops."""

    name: str
    command: str
    timeout: float = 10.0
    priority: int = 100


def _shutdown_hooks(text: str) -> tuple[ShutdownHook, ...]:
    if not text.lstrip().startswith("["):
        return (ShutdownHook("env", text),)
    try:
        return tuple(ShutdownHook(**hook) for hook in json.loads(text))
    except (TypeError, ValueError) as error:
        raise ValueError(f"must be a command or a JSON list of {{name, command, timeout, priority}}: {error}") from None


SHUTDOWN_HOOKS = Kind("command or JSON", _shutdown_hooks)


@dataclass(frozen=True, slots=True)
class HooksSettings:
    """Hooks: commands that run as the agent"""

    init: str | None = variable("RUN_HOOK_INIT", TEXT, None, "Runs first, in the box if there is one.")
    pre_services: str | None = variable("RUN_HOOK_PRE_SERVICES", TEXT, None, "Runs after it in the same place, before the services start.")
    post_ready: str | None = variable("RUN_HOOK_POST_READY", TEXT, None, "Runs once there, when every component is ready.")
    timeout: float = variable(
        "RUN_HOOKS_TIMEOUT",
        seconds(1, 86400),
        300.0,
        "Kill each of the three after this time.",
    )
    strict: bool = variable("RUN_HOOKS_STRICT", BOOLEAN, False, "Stop the container if a hook fails.")
    shutdown: tuple[ShutdownHook, ...] = variable(
        "SANDBOX_SHUTDOWN_HOOKS",
        SHUTDOWN_HOOKS,
        (),
        "A command, or a JSON list of `{name, command, timeout, priority}`, run while stopping.",
    )
    shutdown_timeout: float = variable(
        "SANDBOX_SHUTDOWN_HOOKS_TIMEOUT",
        seconds(0, 3600),
        30.0,
        "How long all of them together may take.",
    )
