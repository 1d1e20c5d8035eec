"""How long scripts may look at pages that a person has."""

import time
from collections.abc import Iterator
from typing import Any

import pytest

from sandbox_server.cdp.looking import LONGEST, SAVED, SHARE, Looking
from sandbox_server.cdp.wire import Command
from tests.cdp.test_shelter import OURS, held
from tests.conftest import until

Owner = Any
BACKTRACKING = "/(a+)+$/.test('a'.repeat(60) + '!')"


class Clock:
    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def looking(clock: Clock) -> Looking:
    return Looking(clock)


def script(**params: object) -> Command:
    return Command(1, "Runtime.evaluate", None, {"id": 1, "method": "Runtime.evaluate", "params": params})


def given(looking: Looking, number: int, **params: object) -> int | None:
    """The milliseconds that a script gets."""
    bounded = looking.bounded(number, script(**params))
    return None if bounded is None else int(bounded.parsed["params"]["timeout"])


@pytest.mark.parametrize("asked", [None, 0, -1, 1000, 5000, 1e300, "9", True, [1]])
def test_a_script_gets_a_second_whatever_else_it_asks_for(looking: Looking, asked: object) -> None:
    assert given(looking, 1, timeout=asked) == LONGEST * 1000


def test_a_script_that_asks_for_less_gets_that_and_keeps_what_else_it_says(looking: Looking) -> None:
    bounded = looking.bounded(1, script(expression="1", timeout=250))
    assert bounded is not None
    assert bounded.parsed["params"] == {"expression": "1", "timeout": 250}


def test_all_scripts_share_their_time(looking: Looking, clock: Clock) -> None:
    assert [given(looking, number) for number in range(4)] == [1000, (SAVED - 1) * 1000, None, None]
    clock.now += 1
    assert given(looking, 5) == SHARE * 1000


def test_what_a_script_did_not_take_is_there_for_others(looking: Looking, clock: Clock) -> None:
    for number in range(1000):
        assert given(looking, number) == 1000
        clock.now += 0.01
        looking.answered(number)
        clock.now += 0.1


def test_a_script_that_is_never_answered_gives_nothing_back(looking: Looking, clock: Clock) -> None:
    given(looking, 1)
    clock.now += 2
    given(looking, 2)
    looking.answered(1)
    assert given(looking, 3) is None
    clock.now += SAVED / SHARE
    assert given(looking, 4) == 1000


@pytest.fixture
def page(shared: Owner) -> Iterator[tuple[Any, str, Any, str]]:
    """An agent's client and one of a person's hands, in the same page."""
    with shared.connect() as agent, shared.connect(headers=OURS) as person:
        target = person.result("Target.createTarget", url="data:text/html,<title>held</title>")["targetId"]
        yield agent, agent.attach(target), person, person.attach(target)
        person.result("Target.closeTarget", targetId=target)


@pytest.mark.parametrize("expression", ["while (true) {}", BACKTRACKING])
@pytest.mark.parametrize("more", [{}, {"timeout": 3_600_000}])
def test_a_look_that_never_ends_leaves_the_page_to_the_person(
    shared: Owner, page: tuple[Any, str, Any, str], expression: str, more: dict[str, Any]
) -> None:
    agent, session, person, theirs = page
    with held(shared):
        for _ in range(20):
            agent.send("Runtime.evaluate", session, expression=expression, throwOnSideEffect=True, **more)
        agent.send("Runtime.callFunctionOn", session, functionDeclaration="() => { for (;;); }", throwOnSideEffect=True)
        began = time.monotonic()
        assert person.evaluate("1 + 1", theirs) == 2
        assert time.monotonic() - began < 2
    assert agent.result("Runtime.evaluate", session, expression="1 + 2")["result"]["value"] == 3, "with nobody there it has what time it takes"


def test_a_look_of_a_program_is_answered_and_says_why_it_waits(shared: Owner, page: tuple[Any, str, Any, str]) -> None:
    agent, session, _, _ = page
    with held(shared):
        until(lambda: "result" in agent.command("Runtime.evaluate", session, expression="6 * 7", throwOnSideEffect=True))
        sent = [agent.send("Runtime.evaluate", session, expression="for (;;);", throwOnSideEffect=True) for _ in range(5)]
        reasons = [str(agent.reply(number)) for number in sent[2:]]
    assert all("as long as they may" in reason for reason in reasons), reasons
