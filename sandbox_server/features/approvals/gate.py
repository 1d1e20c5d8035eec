"""The gate of acts: the policy decides, and where it asks, a person does."""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from sandbox_server.core.approval import AnswerEffect, ApprovalAnswer, ApprovalDecision, ApprovalDenied, ApprovalQuestion, AskApproval
from sandbox_server.core.quota import owner_of
from sandbox_server.features.approvals.policy import ActSubject, ApprovalMatch, ApprovalPolicy, ApprovalRule, UnclearAct
from sandbox_server.features.approvals.policy_store import ApprovalPolicyStore, GrantKey, TaskGrants, allowing_rule

MAX_ROUNDS = 20
"""How often one act is asked about, where other acts that are the same were allowed once before it."""
HINT = (
    "Do not try it another way. Tell the person with request_human why it is needed, or go on without it. "
    "A denied question is not asked again for a minute."
)
_REASONS: dict[ActSubject, str] = {
    "shell": "A program wants to run this command.",
    "navigation": "The browser wants to open this page.",
    "download": "The browser wants to hand this file to the agent.",
    "submit": "The browser wants to send data to this site.",
    "tool": "A program wants to call this tool.",
}

type Decide = Callable[[ApprovalPolicy], ApprovalRule | None]


@dataclass(frozen=True, slots=True)
class TaskScope:
    """What `For this task` allows."""

    key: str
    """What two acts have in common that are both allowed, besides their subject and caller."""
    covers: str
    """The same as one sentence for the person."""


@dataclass(frozen=True, slots=True)
class GatedAct:
    """An act that may need approval."""

    subject: ActSubject
    decide: Decide
    """Raises UnclearAct."""
    details: Mapping[str, str]
    """For the person, who decides on nothing else."""
    asked_by: str
    always: ApprovalMatch | None = None
    """What the rule matches that `Always` writes; None where none can be written."""
    for_task: TaskScope | None = None
    """None where each act is asked about."""

    @property
    def key(self) -> GrantKey | None:
        """What a grant for a task is known by."""
        return (owner_of(self.asked_by, person=False), self.subject, self.for_task.key) if self.for_task else None


class ApprovalGate:
    """Admits acts. Every way to act comes here."""

    def __init__(self, store: ApprovalPolicyStore, grants: TaskGrants, ask: AskApproval) -> None:
        self._store = store
        self._grants = grants
        self._ask = ask
        store.follow(grants.forget)

    def guards(self, subject: ActSubject) -> bool:
        """Whether any rule of a subject asks or denies."""
        return self._store.policy.guards(subject)

    async def admit(
        self, act: GatedAct, waiting: Callable[[Awaitable[ApprovalDecision]], Awaitable[ApprovalDecision]] | None = None
    ) -> None:
        """Return if the act is allowed, after asking a person if a rule says so. Raises ApprovalDenied.

        `waiting` wraps the wait for the decision.
        """
        approved: dict[str, ApprovalDecision] = {}
        for _ in range(MAX_ROUNDS):
            rule = self._rule(act)
            if rule is None or rule.action == "allow" or (rule.action == "ask" and rule.name in approved):
                return
            if rule.action == "deny":
                raise _denied_now(rule, list(approved.values()))
            if act.key and self._grants.allows(act.key):
                return
            asking = self._ask(self._question(rule, act))
            decision = await (waiting(asking) if waiting else asking)
            if decision.joined and decision.outcome == "once":
                continue  # that allowed the act of whoever asked first
            await self._remember(rule, act, decision)
            if not decision.allowed:
                raise ApprovalDenied(_sentence(rule, decision), hint=HINT, **_ending(rule, decision))
            approved[rule.name] = decision  # what the policy says by now counts: it may deny, or another rule may ask
        raise ApprovalDenied("too many calls ask for the same at once", hint=HINT)

    def _rule(self, act: GatedAct) -> ApprovalRule | None:
        """Return the rule that decides. Raises ApprovalDenied for an act with two readings."""
        try:
            return act.decide(self._store.policy)
        except UnclearAct as unclear:
            said = f"the rule {unclear.rule.name!r} may be about this, or not: {unclear.why}"
            raise ApprovalDenied(said, hint=HINT, rule=unclear.rule.name, outcome="denied by rule") from None

    async def _remember(self, rule: ApprovalRule, act: GatedAct, decision: ApprovalDecision) -> None:
        if decision.joined:
            return  # whoever asked first does
        if decision.outcome == "task" and act.key:
            self._grants.allow(act.key)
        elif decision.outcome == "always" and act.always:
            await self._store.allow_always(rule.name, act.subject, act.always)

    def _question(self, rule: ApprovalRule, act: GatedAct) -> ApprovalQuestion:
        effects: dict[ApprovalAnswer, AnswerEffect] = {"once": AnswerEffect("This act alone.")}
        if act.for_task:
            effects["task"] = AnswerEffect(act.for_task.covers, self._grants.seconds)
        if act.always:
            written = allowing_rule("allowed", act.subject, act.always).model_dump_json(exclude_none=True, exclude={"on_timeout", "name"})
            effects["always"] = AnswerEffect("What this rule says, for every program.", rule=written)
        return ApprovalQuestion(
            act.subject,
            _REASONS[act.subject],
            act.details,
            act.asked_by,
            rule.name,
            seconds=rule.seconds,
            on_timeout=rule.on_timeout,
            answers=(*effects, "deny"),
            effects=effects,
        )


def _denied_now(rule: ApprovalRule, approved: Sequence[ApprovalDecision]) -> ApprovalDenied:
    if not approved:
        return ApprovalDenied(f"the rule {rule.name!r} denies this", hint=HINT, rule=rule.name, outcome="denied by rule")
    return ApprovalDenied("the policy was changed: it denies this now", hint=HINT, **_ending(rule, approved[-1]))


def _ending(rule: ApprovalRule, decision: ApprovalDecision) -> dict[str, Any]:
    return {"rule": rule.name, "outcome": decision.outcome, "by": decision.by, "handoff": decision.handoff}


def _sentence(rule: ApprovalRule, decision: ApprovalDecision) -> str:
    said = f": {decision.why}" if decision.why else ""
    return {
        "deny": f"{decision.by} denied this{said}",
        "timeout": f"nobody approved this in time, which the rule {rule.name!r} asks for",
        "cancelled": "the question was withdrawn",
        "refused": f"this needs a person's approval, and nobody was asked{said}",
    }.get(decision.outcome, "this was not approved")
