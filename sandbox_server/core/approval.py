"""Approvals: what a person is asked to allow, the answer, and the interface by which features ask."""

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from typing import Literal

from sandbox_server.core.errors import PermissionDenied

type ApprovalSubject = Literal["network", "shell", "navigation", "download", "submit", "tool"]
type ApprovalDuration = Literal["once", "task", "always"]
"""How long what a person allows is allowed."""
type ApprovalAnswer = Literal["once", "task", "always", "deny"]
"""What a person answers: for this time, for this task, for ever, or not at all."""
type ApprovalOutcome = Literal["once", "task", "always", "deny", "timeout", "cancelled", "refused"]
"""How a question ended. `cancelled`: its asker or an admin withdrew it. `refused`: nobody was asked; `why` says why."""
type TimeoutAction = Literal["deny", "allow"]

APPROVAL_ANSWERS: tuple[ApprovalAnswer, ...] = ("once", "task", "always", "deny")
ON_DESKTOP = "desktop"
"""Who asks for what the browser and other programs on the desktop do. No caller has the name: a person may be there."""
ALLOWING: frozenset[ApprovalOutcome] = frozenset({"once", "task", "always"})


class ApprovalDenied(PermissionDenied):
    """A rule or a person does not allow an act. Nothing was done."""

    kind = "approval_denied"


@dataclass(frozen=True, slots=True)
class AnswerEffect:
    """What an answer allows."""

    covers: str
    """One sentence for the person, of the server's own words."""
    seconds: float | None = None
    """How long; None: what waits alone, while the task runs, or for ever."""
    rule: str = ""
    """The rule that it writes, as JSON, where it writes one."""


@dataclass(frozen=True, slots=True)
class ApprovalQuestion:
    """A question to a person. Two are the same if all their fields are equal."""

    subject: ApprovalSubject
    reason: str
    """One sentence for the person, of the server's own words."""
    details: Mapping[str, str]
    """What the person decides on. The text may be the agent's."""
    asked_by: str
    """The caller that wants it, or the program."""
    rule: str = ""
    """The rule of a policy that asks, by name."""
    seconds: float | None = None
    """How long a person may take; None: as the settings say."""
    on_timeout: TimeoutAction = "deny"
    answers: tuple[ApprovalAnswer, ...] = APPROVAL_ANSWERS
    """The answers that are offered."""
    effects: Mapping[ApprovalAnswer, AnswerEffect] = field(default_factory=dict)
    """What those that allow it allow."""
    private: str | None = None
    """The person in whose private time it was caused: nobody else is asked or hears of it. None: everybody may."""


@dataclass(frozen=True, slots=True)
class ApprovalDecision:
    """How a question ended."""

    outcome: ApprovalOutcome
    by: str = ""
    """The person who answered."""
    handoff: str = ""
    """The request that was answered, by its id; empty if nobody was asked."""
    why: str = ""
    """Why nobody was asked, or what the person said."""
    joined: bool = False
    """Whether the same question was open already. `once` then allows the first asker's act, and no other."""
    on_timeout: TimeoutAction = "deny"

    @property
    def answer(self) -> ApprovalAnswer | None:
        """What the person answered; None if nobody did."""
        return next((each for each in APPROVAL_ANSWERS if each == self.outcome), None)

    @property
    def allowed(self) -> bool:
        """Whether the act is allowed."""
        return self.outcome in ALLOWING or (self.outcome == "timeout" and self.on_timeout == "allow")


type AskApproval = Callable[[ApprovalQuestion], Awaitable[ApprovalDecision]]
"""Asks a person and waits for the decision. Whoever stops waiting withdraws the question, unless others wait for it, too."""
