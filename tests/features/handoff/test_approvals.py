"""Approvals: what the sandbox asks a person to allow."""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path

import pytest

from sandbox_server.core import ALL_SCOPES, Call, Caller, Conflict, PermissionDenied
from sandbox_server.core.approval import AnswerEffect, ApprovalAnswer, ApprovalDecision, ApprovalQuestion
from sandbox_server.core.dispatch import InvalidFields
from sandbox_server.features.handoff.approval_limits import MAX_DETAIL
from sandbox_server.features.handoff.approvals import HandoffApprovals
from sandbox_server.features.handoff.handoff import AnswerHandoff, Approval, AskPerson, Handoff
from sandbox_server.features.handoff.queue import HandoffQueue
from tests.features.handoff.queues import Clock, queue
from tests.features.handoff.test_handoffs import AGENT, ANN, OTHER, ROOT, Calls
from tests.patience import PATIENCE_SECONDS, eventually

pytestmark = pytest.mark.anyio

PUSH = ApprovalQuestion("shell", "git push", {"command": "git push origin main", "session": "s1"}, "agent", rule="push")

APPROVAL = Approval(subject="shell", rule="push", details={"command": "git push"}, answers=["once", "deny"])


class Desk:
    """Approvals over a queue of their own, on a clock that stands still."""

    def __init__(self, queue: HandoffQueue, approvals: HandoffApprovals, clock: Clock) -> None:
        self.queue, self.approvals, self.clock, self.calls = queue, approvals, clock, Calls(queue)

    def ask(self, question: ApprovalQuestion = PUSH) -> asyncio.Task[ApprovalDecision]:
        return asyncio.create_task(self.approvals.ask(question))

    async def open(self, count: int = 1) -> list[Handoff]:
        async with asyncio.timeout(PATIENCE_SECONDS):
            async for found in self.queue.news():
                if len(found) == count:
                    return found
        raise AssertionError

    async def answer(self, outcome: ApprovalAnswer, by: str = "ann") -> Handoff:
        (asked,) = await self.open()
        return await self.queue.answer(AnswerHandoff(id=asked.id, outcome=outcome), by, "view")


@asynccontextmanager
async def opened(folder: Path, clock: Clock) -> AsyncIterator[Desk]:
    async with AsyncExitStack() as stack:
        store, found = queue(folder, clock)
        await stack.enter_async_context(store)
        await stack.enter_async_context(found)
        approvals = await stack.enter_async_context(HandoffApprovals(found, 30))
        yield Desk(found, approvals, clock)


@pytest.fixture
async def desk(tmp_path: Path) -> AsyncIterator[Desk]:
    async with opened(tmp_path, Clock()) as found:
        yield found


@pytest.mark.parametrize("outcome", ["once", "task", "always", "deny"])
async def test_a_person_allows_or_denies(desk: Desk, outcome: ApprovalAnswer) -> None:
    asking = desk.ask()
    (shown,) = await desk.open()
    assert (shown.kind, shown.asked_by, shown.on_timeout, shown.deadline_at) == ("approve", "agent", "deny", desk.clock.now + 30)
    assert shown.approval
    assert shown.approval.model_dump() == {
        "subject": "shell",
        "rule": "push",
        "details": {"command": "git push origin main", "session": "s1"},
        "answers": ["once", "task", "always", "deny"],
        "effects": {},
    }
    await desk.answer(outcome)
    decision = await asking
    assert (decision.outcome, decision.by, decision.handoff, decision.joined) == (outcome, "ann", shown.id, False)
    assert decision.allowed is (outcome != "deny")


async def test_no_answer_denies_when_the_time_is_up(desk: Desk) -> None:
    asking = desk.ask(ApprovalQuestion("shell", "r", {"command": "x"}, "agent", seconds=0.01))
    (shown,) = await desk.open()
    desk.clock.now = shown.deadline_at
    await desk.queue.ask(AskPerson(reason="r"), Caller("agent"))  # the clock is looked at when something changes
    decision = await asking
    assert (decision.outcome, decision.allowed, decision.by) == ("timeout", False, "")
    assert desk.queue.get(shown.id).outcome == "timeout"


async def test_no_agents_token_answers_whatever_its_scopes(desk: Desk) -> None:
    asking = desk.ask()
    (shown,) = await desk.open()
    for caller in (AGENT, ROOT, Caller("agent", ALL_SCOPES), Caller("ann", ALL_SCOPES)):
        for name in ("answer_handoff", "claim_handoff"):
            with pytest.raises(PermissionDenied):
                await desk.calls.ask(caller, name, id=shown.id, **({"outcome": "once"} if name == "answer_handoff" else {}))
    reply = Call(Caller("agent", ALL_SCOPES), "1", surface="mcp")
    with pytest.raises(PermissionDenied, match="only a person"):
        await desk.calls.made(reply, "reply_handoff", id=shown.id, outcome="once")
    await desk.calls.ask(ANN, "answer_handoff", id=shown.id, outcome="once")
    assert (await asking).outcome == "once"


async def test_an_agent_makes_no_approval_of_its_own(desk: Desk) -> None:
    for fields in (
        {"kind": "approve"},
        {"kind": "approve", "approval": {"subject": "shell", "rule": "", "details": {}, "answers": ["once"]}},
    ):
        with pytest.raises(InvalidFields):
            await desk.calls.ask(AGENT, "request_human", reason="r", **fields)


async def test_an_outcome_of_another_kind_answers_neither(desk: Desk) -> None:
    desk.ask()
    (shown,) = await desk.open()
    other = await desk.queue.ask(AskPerson(kind="confirm", reason="r"), Caller("agent"))
    for handoff, outcome in ((shown.id, "done"), (other.id, "once")):
        with pytest.raises(Conflict, match="does not answer"):
            await desk.calls.ask(ANN, "answer_handoff", id=handoff, outcome=outcome)


async def test_only_the_answers_that_were_offered_count(desk: Desk) -> None:
    asking = desk.ask(ApprovalQuestion("network", "r", {"host": "a.example"}, "agent", answers=("once", "deny")))
    with pytest.raises(Conflict, match="'always' does not answer"):
        await desk.answer("always")
    await desk.answer("once")
    assert (await asking).outcome == "once"


async def test_of_two_answers_at_once_one_counts_and_none_counts_later(desk: Desk) -> None:
    asking = desk.ask()
    (shown,) = await desk.open()
    yes, no = AnswerHandoff(id=shown.id, outcome="once"), AnswerHandoff(id=shown.id, outcome="deny")
    first, second = await asyncio.gather(
        desk.queue.answer(yes, "ann", "view"), desk.queue.answer(no, "bob", "view"), return_exceptions=True
    )
    assert not isinstance(first, BaseException)
    assert isinstance(second, Conflict)
    assert (await asking).outcome == "once"
    again = desk.ask()
    (asked_again,) = await desk.open()
    with pytest.raises(Conflict, match="is closed: once"):
        await desk.queue.answer(yes, "ann", "view")
    assert asked_again.id != shown.id
    await desk.answer("deny")
    assert (await again).outcome == "deny"


async def test_the_same_question_is_one_request_and_says_who_joined(desk: Desk) -> None:
    first = desk.ask()
    await desk.open()
    second = desk.ask()
    await asyncio.sleep(0)
    await desk.answer("once")
    decisions = await asyncio.gather(first, second)
    assert [each.joined for each in decisions] == [False, True]
    assert len({each.handoff for each in decisions}) == 1


@pytest.mark.parametrize(
    "other",
    [
        ApprovalQuestion("shell", "r", {"command": "git push origin evil", "session": "s1"}, "agent", rule="push"),
        ApprovalQuestion("shell", "r", dict(PUSH.details), "agent2", rule="push"),
        ApprovalQuestion("shell", "r", dict(PUSH.details), "agent", rule="other"),
        ApprovalQuestion("tool", "r", dict(PUSH.details), "agent", rule="push"),
    ],
)
async def test_another_question_never_gets_the_answer_of_this_one(desk: Desk, other: ApprovalQuestion) -> None:
    first, second = desk.ask(), desk.ask(other)
    shown, waiting = await desk.open(2)
    await desk.queue.answer(AnswerHandoff(id=shown.id, outcome="always"), "ann", "view")
    assert (await first).outcome == "always"
    assert not second.done()
    await desk.queue.answer(AnswerHandoff(id=waiting.id, outcome="deny"), "ann", "view")
    assert (await second).outcome == "deny"


async def test_a_question_is_withdrawn_when_nobody_waits_for_it_any_more(desk: Desk) -> None:
    first = desk.ask()
    (shown,) = await desk.open()
    second = desk.ask()
    await asyncio.sleep(0)
    first.cancel()
    await asyncio.wait([first])
    assert desk.queue.is_open(shown.id)
    second.cancel()
    await asyncio.wait([second])
    await desk.open(0)
    ended = desk.queue.get(shown.id)
    assert (ended.outcome, ended.closed_by) == ("cancelled", "agent")
    with pytest.raises(Conflict, match="is closed: cancelled"):
        await desk.queue.answer(AnswerHandoff(id=shown.id, outcome="once"), "ann", "view")


async def test_who_asked_may_withdraw_it_which_allows_nothing(desk: Desk) -> None:
    asking = desk.ask()
    (shown,) = await desk.open()
    with pytest.raises(PermissionDenied):
        await desk.calls.ask(OTHER, "cancel_handoff", id=shown.id)
    await desk.calls.ask(AGENT, "cancel_handoff", id=shown.id)
    decision = await asking
    assert (decision.outcome, decision.allowed) == ("cancelled", False)


async def test_what_a_person_denied_is_not_asked_again_at_once(desk: Desk) -> None:
    asking = desk.ask()
    await desk.answer("deny")
    await asking
    again = await desk.approvals.ask(PUSH)
    assert (again.outcome, again.allowed, again.handoff) == ("refused", False, "")
    assert again.why == "ann denied the same less than 60 seconds ago"
    assert desk.queue.listed("open") == []


async def test_what_nobody_can_read_whole_nobody_is_asked(desk: Desk) -> None:
    for details, why in (
        ({"command": "x" * (MAX_DETAIL + 1)}, "too long for a person to read"),
        ({"command": "\u200b" * (MAX_DETAIL // 8 + 1)}, "too long for a person to read"),
        ({f"d{'x' * number}": "v" for number in range(13)}, "cannot be shown"),
        ({"Bad name": "v"}, "cannot be shown"),
    ):
        refused = await desk.approvals.ask(ApprovalQuestion("shell", "r", details, "agent"))
        assert refused.outcome == "refused"
        assert why in refused.why


async def test_the_agents_text_is_shown_with_every_character_visible(desk: Desk) -> None:
    asking = desk.ask(ApprovalQuestion("shell", "a\u202eb", {"command": "ls\u200b\nrm -rf /"}, "agent"))
    (shown,) = await desk.open()
    assert shown.approval
    assert (shown.reason, shown.approval.details) == ("a⟨U+202E⟩b", {"command": "ls⟨U+200B⟩↵rm -rf /"})
    await desk.answer("deny")
    await asking


async def flood(desk: Desk, count: int, asker: Callable[[int], str]) -> list[ApprovalDecision]:
    """Decisions of a flood of different questions that were refused at once; the others are cancelled."""
    asking = [desk.ask(ApprovalQuestion("shell", "r", {"command": str(number)}, asker(number))) for number in range(count)]
    await eventually(lambda: sum(task.done() for task in asking) + len(desk.queue.listed("open")) == count)
    done = [task for task in asking if task.done()]
    for task in asking:
        task.cancel()
    await asyncio.wait(asking)
    await eventually(lambda: not desk.queue.listed("open"))
    return [task.result() for task in done]


async def test_a_flood_of_one_agent_opens_few_questions_and_of_many_not_many_more(desk: Desk) -> None:
    refused = await flood(desk, 40, lambda number: f"agent#{number}")
    assert len(refused) == 32
    assert {(each.outcome, each.why) for each in refused} == {("refused", "too many questions are open")}
    assert len(await flood(desk, 40, str)) == 20


async def test_a_flood_of_requests_to_people_leaves_room_for_approvals(desk: Desk) -> None:
    for _ in range(100):
        await desk.queue.ask(AskPerson(reason="r"), Caller("agent"))
    asking = desk.ask()
    await desk.open(101)
    asking.cancel()
    await asyncio.wait([asking])


async def test_a_question_ends_with_the_process_that_asked_it(tmp_path: Path) -> None:
    clock = Clock()
    store, found = queue(tmp_path, clock)
    async with store, found:
        asked = await found.ask_approval(APPROVAL, "r", "agent", 3600, "deny")
    async with opened(tmp_path, clock) as desk:
        ended = desk.queue.get(asked.id)
        assert (ended.outcome, ended.approval, desk.queue.listed("open")) == ("cancelled", asked.approval, [])


async def test_what_each_answer_allows_is_told_with_every_character_visible(desk: Desk) -> None:
    effects: dict[ApprovalAnswer, AnswerEffect] = {
        "once": AnswerEffect("This act alone."),
        "always": AnswerEffect("A rule.", rule='{"line": "ls\u200b"}'),
    }
    asking = desk.ask(ApprovalQuestion("shell", "r", {"command": "ls\u200b"}, "agent", answers=("once", "always", "deny"), effects=effects))
    (shown,) = await desk.open()
    assert shown.approval
    assert {answer: effect.model_dump() for answer, effect in shown.approval.effects.items()} == {
        "once": {"covers": "This act alone.", "seconds": None, "rule": None},
        "always": {
            "covers": "A rule.",
            "seconds": None,
            "rule": '{"line": "ls\N{MATHEMATICAL LEFT ANGLE BRACKET}U+200B\N{MATHEMATICAL RIGHT ANGLE BRACKET}"}',
        },
    }
    await desk.answer("deny")
    await asking
