"""Approvals: the sandbox asks a person to allow what a policy does not decide, and waits for the decision."""

import asyncio
from dataclasses import dataclass, replace
from types import TracebackType
from typing import Self, cast

from sandbox_server.core import Conflict, Tasks
from sandbox_server.core.approval import ApprovalAnswer, ApprovalDecision, ApprovalOutcome, ApprovalQuestion
from sandbox_server.core.visible_text import visible
from sandbox_server.features.handoff.approval_limits import MAX_DETAIL, MAX_REASON, ApprovalLimits, QuestionKey, key_of
from sandbox_server.features.handoff.handoff import AllowedEffect, Approval, Handoff
from sandbox_server.features.handoff.queue import HandoffQueue

CLOSE_SECONDS = 5.0
"""How long after its deadline a question is waited for, at most."""
BY_RESTART = "clock"


@dataclass(slots=True)
class _OpenQuestion:
    """A question that is open, and how many wait for it."""

    asked_by: str
    private: bool
    decision: asyncio.Task[ApprovalDecision]
    waiting: int = 0


class HandoffApprovals:
    """Asks people by the queue of handoffs; an asynchronous context manager.

    The same question is one request, however many ask it. It is withdrawn when nobody waits for it any more.
    """

    def __init__(self, queue: HandoffQueue, seconds: float, limits: ApprovalLimits | None = None) -> None:
        """`seconds` is how long a person may take, if a question does not say."""
        self._queue = queue
        self._seconds = seconds
        self._limits, self._private_limits = limits or ApprovalLimits(), ApprovalLimits()
        self._open: dict[QuestionKey, _OpenQuestion] = {}
        self._tasks = Tasks()

    async def __aenter__(self) -> Self:
        for left in self._queue.listed("open"):
            if left.approval:  # its asker waited in a process that has ended
                await self._queue.close(left.id, BY_RESTART, "cancelled")
        return self

    async def __aexit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        await self._tasks.close()

    async def ask(self, question: ApprovalQuestion) -> ApprovalDecision:
        """Ask a person and wait for the decision.

        Whoever stops waiting withdraws the question, unless others wait for it, too.
        """
        key, private = key_of(question), question.private is not None
        found, limits = self._open.get(key), self._limits_of(question)
        if found:
            return replace(await self._wait(key, found), joined=True)
        details = {name: visible(text[: MAX_DETAIL + 1]) for name, text in question.details.items()}
        opened = [each.asked_by for each in self._open.values() if each.private == private]
        if why := limits.refusal(question, details, opened):
            return ApprovalDecision("refused", why=why, on_timeout=question.on_timeout)
        limits.asked(question)
        asking = self._tasks.start(self._decide(question, details), name=f"approval of {question.subject}")
        found = self._open[key] = _OpenQuestion(question.asked_by, private, asking)
        asking.add_done_callback(lambda _: self._forget(key, found))
        return await self._wait(key, found)

    def _limits_of(self, question: ApprovalQuestion) -> ApprovalLimits:
        """Return what counts the question: neither side learns of the other's by being refused."""
        return self._limits if question.private is None else self._private_limits

    async def _wait(self, key: QuestionKey, found: _OpenQuestion) -> ApprovalDecision:
        found.waiting += 1
        try:
            return await asyncio.shield(found.decision)
        finally:
            found.waiting -= 1
            if not found.waiting and not found.decision.done():
                self._forget(key, found)
                found.decision.cancel()

    def _forget(self, key: QuestionKey, found: _OpenQuestion) -> None:
        if self._open.get(key) is found:
            del self._open[key]

    async def _decide(self, question: ApprovalQuestion, details: dict[str, str]) -> ApprovalDecision:
        seconds = self._seconds if question.seconds is None else question.seconds
        effects = {
            answer: AllowedEffect(covers=visible(effect.covers), seconds=effect.seconds, rule=visible(effect.rule) or None)
            for answer, effect in question.effects.items()
        }
        answers = list(question.answers)
        approval = Approval(subject=question.subject, rule=question.rule, details=details, answers=answers, effects=effects)
        reason = visible(question.reason)[:MAX_REASON]
        asked = await self._queue.ask_approval(approval, reason, question.asked_by, seconds, question.on_timeout, private=question.private)
        try:
            ended = await self._queue.closed(asked.id, seconds + CLOSE_SECONDS)
        finally:
            await self._withdraw(asked.id, question.asked_by)
        if ended.outcome == "deny":
            self._limits_of(question).denied(question, ended.closed_by or "")
        return _decision(ended, question)

    async def _withdraw(self, handoff: str, asked_by: str) -> None:
        if self._queue.get(handoff).status == "closed":
            return
        try:
            await self._queue.close(handoff, asked_by, "cancelled")
        except Conflict:
            return  # somebody was faster


def _decision(ended: Handoff, question: ApprovalQuestion) -> ApprovalDecision:
    outcome: ApprovalOutcome = "timeout"
    if ended.outcome in ("cancelled", *question.answers):
        outcome = cast("ApprovalAnswer", ended.outcome)
    by = "" if outcome == "timeout" else ended.closed_by or ""
    return ApprovalDecision(outcome, by=by, handoff=ended.id, why=ended.note, on_timeout=question.on_timeout)
