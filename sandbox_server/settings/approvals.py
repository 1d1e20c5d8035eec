"""Approvals: a section of `settings`. Standard library only, because boot imports it."""

from dataclasses import dataclass

from sandbox_server.settings.kinds import TEXT, seconds, variable

HERE_SECONDS, ELSEWHERE_SECONDS = 30.0, 300.0
"""How long a person may take who has the page open, and one who has to come to it first."""


@dataclass(frozen=True, slots=True)
class ApprovalsSettings:
    """Approvals: what a person has to allow"""

    policy: str | None = variable(
        "APPROVALS",
        TEXT,
        None,
        "Rules for acts that need a person's approval: JSON, or the path of a file with it. See [approvals.md](approvals.md).",
    )
    answer: float | None = variable(
        "APPROVAL_SECONDS",
        seconds(1, 3600),
        None,
        "How long a person may take to answer an approval. Then the rule's `on_timeout` counts. Unset: 30, and 300 where a notification "
        "tells people elsewhere (`HANDOFF_…`).",
    )
    task: float = variable(
        "APPROVAL_TASK_SECONDS", seconds(60, 86400), 14400.0, "How long the answer `For this task` holds, where no task is known."
    )

    def answer_within(self, *, notifies: bool) -> float:
        """How long a person may take, in seconds; `notifies` says whether people are told elsewhere than on the pages."""
        return self.answer or (ELSEWHERE_SECONDS if notifies else HERE_SECONDS)
