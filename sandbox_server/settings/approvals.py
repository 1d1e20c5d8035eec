"""Approvals: a section of `settings`. Standard library only, because boot imports it."""

from dataclasses import dataclass

from sandbox_server.settings.kinds import TEXT, seconds, variable


@dataclass(frozen=True, slots=True)
class ApprovalsSettings:
    """Approvals: what a person has to allow"""

    policy: str | None = variable(
        "APPROVALS",
        TEXT,
        None,
        "Rules for acts that need a person's approval: JSON, or the path of a file with it. See [approvals.md](approvals.md).",
    )
    answer: float = variable(
        "APPROVAL_SECONDS", seconds(1, 3600), 30.0, "How long a person may take to answer an approval. Then the rule's `on_timeout` counts."
    )
    task: float = variable(
        "APPROVAL_TASK_SECONDS", seconds(60, 86400), 14400.0, "How long the answer `For this task` holds, where no task is known."
    )
