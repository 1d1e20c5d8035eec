"""Settings of the agent's box and its checkpoints."""

from dataclasses import dataclass
from typing import Literal

from sandbox_server.settings.kinds import BOOLEAN, PATH, SIZE, choice, integer, seconds, variable


@dataclass(frozen=True, slots=True)
class BoxSettings:
    """The agent's box"""

    mode: Literal["auto", "on", "off"] = variable(
        "BOX",
        choice("auto", "on", "off"),
        "auto",
        "Give the agent a Linux of its own, root only there. `auto`: if the host allows it; `on`: boot stops otherwise.",
    )
    directory: str = variable(
        "BOX_DIR", PATH, "/sandbox", "Where the box's files and checkpoints are: a volume, not below a system directory."
    )
    max_processes: int = variable(
        "BOX_MAX_PROCESSES", integer(64, 1 << 20), 1024, "Processes and threads that the agent may have at once. More cannot start."
    )
    max_memory: int = variable(
        "BOX_MAX_MEMORY_BYTES",
        SIZE,
        0,
        "Memory of the agent's processes together, and of each. Beyond it the largest is ended. 0: the container's.",
    )
    checkpoint_quota: int = variable("CHECKPOINT_QUOTA_BYTES", SIZE, 10 << 30, "Bytes that checkpoints may take together.")
    checkpoint_before: Literal["never", "idle", "always"] = variable(
        "CHECKPOINT_BEFORE_RISK",
        choice("never", "idle", "always"),
        "never",
        "Make a checkpoint before removing directories, installing packages or extracting archives. `idle`: only if no command runs.",
    )
    checkpoint_workspace: bool = variable(
        "CHECKPOINT_WORKSPACE", BOOLEAN, True, "Include the workspace in checkpoints. A volume mounted there never is."
    )
    idle_suspend: float = variable(
        "IDLE_SUSPEND_SECONDS",
        seconds(0, 86400 * 30),
        0.0,
        "Suspend the agent's processes after this time without a request. 0: never.",
    )
