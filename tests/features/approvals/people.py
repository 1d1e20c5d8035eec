"""A person who answers questions, for tests of the gate."""

import asyncio
from collections.abc import Callable

from sandbox_server.core.approval import ApprovalDecision, ApprovalOutcome, ApprovalQuestion


class Person:
    """Answers every question with the next of `answers`, and then with the last one. With none, each waits for `answer`."""

    def __init__(self, *answers: ApprovalOutcome) -> None:
        self.answers = list(answers)
        self.asked: list[ApprovalQuestion] = []
        self.withdrawn = 0
        self.joined = False
        self.before: Callable[[], None] = lambda: None
        self.answer: asyncio.Future[ApprovalOutcome] | None = None

    async def ask(self, question: ApprovalQuestion) -> ApprovalDecision:
        self.asked.append(question)
        self.before()
        if self.answers:
            outcome = self.answers.pop(0) if len(self.answers) > 1 else self.answers[0]
        else:
            self.answer = asyncio.get_running_loop().create_future()
            try:
                outcome = await self.answer
            except asyncio.CancelledError:
                self.withdrawn += 1
                raise
        joined, self.joined = self.joined, False
        return ApprovalDecision(outcome, by="ann", handoff="h-1", joined=joined, on_timeout=question.on_timeout)
