"""The gate of acts: the policy decides, and where it asks, a person does."""

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass

from sandbox_server.core.approval import ApprovalDecision, ApprovalDenied, ApprovalQuestion, AskApproval
from sandbox_server.core.quota import owner_of
from sandbox_server.features.approvals.policy import ActSubject, ApprovalMatch, ApprovalPolicy, ApprovalRule
from sandbox_server.features.approvals.policy_store import ApprovalPolicyStore, GrantKey, TaskGrants

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
class GatedAct:
    """An act that may need approval."""

    subject: ActSubject
    decide: Decide
    details: Mapping[str, str]
    """For the person."""
    asked_by: str
    same: ApprovalMatch
    """What `For this task` and `Always` allow: this act and its like."""

    @property
    def key(self) -> GrantKey:
        """What a grant for a task is known by."""
        return (owner_of(self.asked_by, person=False), self.subject, self.same.model_dump_json(exclude_none=True))


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
        for _ in range(MAX_ROUNDS):
            rule = act.decide(self._store.policy)
            if rule is None or rule.action == "allow":
                return
            if rule.action == "deny":
                raise ApprovalDenied(f"the rule {rule.name!r} denies this", hint=HINT, rule=rule.name, outcome="denied by rule")
            if self._grants.allows(act.key):
                return
            asking = self._ask(_question(rule, act))
            decision = await (waiting(asking) if waiting else asking)
            if decision.joined and decision.outcome == "once":
                continue  # that allowed the act of whoever asked first
            await self._remember(rule, act, decision)
            self._check(rule, act, decision)
            return
        raise ApprovalDenied("too many calls ask for the same at once", hint=HINT)

    async def _remember(self, rule: ApprovalRule, act: GatedAct, decision: ApprovalDecision) -> None:
        if decision.joined:
            return  # whoever asked first does
        if decision.outcome == "task":
            self._grants.allow(act.key)
        elif decision.outcome == "always":
            await self._store.allow_always(rule.name, act.subject, act.same)

    def _check(self, rule: ApprovalRule, act: GatedAct, decision: ApprovalDecision) -> None:
        """Raise ApprovalDenied unless it is allowed, by the policy of this moment, too."""
        now = act.decide(self._store.policy)
        if decision.allowed and not (now and now.action == "deny"):
            return
        raise ApprovalDenied(
            _sentence(rule, decision) if not decision.allowed else "the policy was changed: it denies this now",
            hint=HINT,
            rule=rule.name,
            outcome=decision.outcome,
            by=decision.by,
            handoff=decision.handoff,
        )


def _question(rule: ApprovalRule, act: GatedAct) -> ApprovalQuestion:
    return ApprovalQuestion(
        act.subject, _REASONS[act.subject], act.details, act.asked_by, rule.name, seconds=rule.seconds, on_timeout=rule.on_timeout
    )


def _sentence(rule: ApprovalRule, decision: ApprovalDecision) -> str:
    said = f": {decision.why}" if decision.why else ""
    return {
        "deny": f"{decision.by} denied this{said}",
        "timeout": f"nobody approved this in time, which the rule {rule.name!r} asks for",
        "cancelled": "the question was withdrawn",
        "refused": f"this needs a person's approval, and nobody was asked{said}",
    }.get(decision.outcome, "this was not approved")
