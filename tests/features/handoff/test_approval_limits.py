"""How often a person is asked to allow something."""

from sandbox_server.core.approval import ON_DESKTOP, ApprovalQuestion
from sandbox_server.features.handoff.approval_limits import MAX_OPEN, MAX_OPEN_OF_ONE, MAX_PER_MINUTE_OF_ONE, ApprovalLimits
from tests.features.handoff.queues import Clock


def question(number: int, asker: str = "agent") -> ApprovalQuestion:
    return ApprovalQuestion("shell", "r", {"command": str(number)}, asker)


def asked(limits: ApprovalLimits, count: int, asker: str = "agent") -> str:
    """Why the last of `count` questions, one after the other, may not be asked."""
    why = ""
    for number in range(count):
        why = limits.refusal(question(number, asker), {}, [])
        if not why:
            limits.asked(question(number, asker))
    return why


def test_one_agent_asks_thirty_questions_a_minute_by_whatever_ticket() -> None:
    clock = Clock()
    limits = ApprovalLimits(clock)
    assert asked(limits, 30) == ""
    for asker in ("agent", "agent#1f03ac"):
        assert asked(limits, 1, asker) == "too many questions were asked in the last minute"
    assert asked(limits, 1, "other") == ""
    clock.now += 60
    assert asked(limits, 30) == ""


def test_all_together_ask_sixty() -> None:
    limits = ApprovalLimits(Clock())
    assert [bool(asked(limits, 1, f"agent-{number}")) for number in range(61)] == [False] * 60 + [True]


def test_a_denial_is_remembered_for_a_minute_and_for_that_question_alone() -> None:
    clock = Clock()
    limits = ApprovalLimits(clock)
    limits.denied(question(1), "ann")
    assert limits.refusal(question(1), {}, []) == "ann denied the same less than 60 seconds ago"
    assert limits.refusal(question(2), {}, []) == ""
    clock.now += 60
    assert limits.refusal(question(1), {}, []) == ""


def test_few_denials_are_remembered() -> None:
    limits = ApprovalLimits(Clock())
    for number in range(257):
        limits.denied(question(number), "ann")
    assert [limits.refusal(question(number), {}, []) != "" for number in (0, 1, 256)] == [False, True, True]


def test_what_programs_ask_leaves_the_desktop_its_own_share() -> None:
    limits = ApprovalLimits(Clock())
    assert [bool(asked(limits, 1, f"agent-{number}")) for number in range(61)][-1]
    assert asked(limits, MAX_PER_MINUTE_OF_ONE, ON_DESKTOP) == ""
    assert asked(limits, 1, ON_DESKTOP) == "too many questions were asked in the last minute"
    opened = [f"agent-{number}" for number in range(MAX_OPEN)]
    clear = ApprovalLimits(Clock())
    assert clear.refusal(question(1, "other"), {}, opened) == "too many questions are open"
    assert clear.refusal(question(1, ON_DESKTOP), {}, opened) == ""
    assert clear.refusal(question(1, "other"), {}, [ON_DESKTOP] * MAX_OPEN_OF_ONE + opened[1:]) == ""
    assert clear.refusal(question(1, ON_DESKTOP), {}, [ON_DESKTOP] * MAX_OPEN_OF_ONE) == "too many questions are open"
