from collections.abc import Callable
from typing import Any

import pytest

from sandbox_server.core import Blob, Call, Caller, Event, Model, NotFound, Reply, operation
from sandbox_server.core.operation import Operation, operations
from sandbox_server.features.egress import hints as hints_module
from sandbox_server.features.egress.connections import ConnectionTable
from sandbox_server.features.egress.hints import EgressHints
from tests.features.egress.flows import refused

pytestmark = pytest.mark.anyio


class Run(Model):
    session_id: str | None = None


class Ran(Model):
    session_id: str


class Tools:
    """Operations of some scopes."""

    tag = "bash"

    @operation("POST /run", scope="shell")
    async def run(self, request: Run) -> Ran:
        """Run."""
        return Ran(session_id="s")

    @operation("POST /page", scope="browser")
    async def page(self) -> None:
        """Load."""

    @operation("GET /see", scope="view")
    async def see(self) -> None:
        """Look."""


OPERATIONS: dict[str, Operation] = {each.spec.name: each for each in operations(Tools())}


class Lab:
    """A guard, and what is refused."""

    def __init__(self) -> None:
        self.now = 1000.0
        self.hints = EgressHints(lambda: self.now)
        self.table = ConnectionTable(991)
        self.table.seen.append(self.hints.see)

    def refuse(self, host: str = "evil.example", session: str | None = None, **more: Any) -> None:
        """Refuse a connection, of a session that was looked up."""
        self.table.hear(refused(host, **more))
        if session:
            self.table.ended[0].session = session

    async def call(
        self, name: str = "run", caller: str = "agent", request: Run | None = None, during: Callable[[], object] = lambda: None
    ) -> Any:
        """Run an operation; gives its result."""

        async def proceed() -> object:
            return during()

        return await self.hints(OPERATIONS[name], request, Call(Caller(caller), "1"), proceed)

    async def hint(self, *given: Any, **more: Any) -> str | None:
        """The hint of a call."""
        result = await self.call(*given, **more)
        return result.hint if isinstance(result, Reply) else None


@pytest.fixture
def lab() -> Lab:
    return Lab()


async def test_what_was_refused_during_a_call_is_in_its_answer_once(lab: Lab) -> None:
    blocked = "blocked: evil.example:443 by rule `default`; ask with request_access"
    assert await lab.hint(during=lab.refuse) == blocked
    assert await lab.hint() is None
    lab.refuse()
    assert await lab.hint() == blocked


async def test_a_hint_joins_the_hint_of_the_operation_and_keeps_its_result(lab: Lab) -> None:
    def during() -> object:
        lab.refuse()
        return Reply(5, message="done", hint="slow")

    result = await lab.call(during=during)
    assert (result.data, result.message, result.hint.partition("; ")[0]) == (5, "done", "slow")


async def test_a_call_that_fails_says_it_too(lab: Lab) -> None:
    def during() -> object:
        lab.refuse()
        raise NotFound("no such file", hint="look again")

    with pytest.raises(NotFound) as failed:
        await lab.call(during=during)
    assert failed.value.hint
    assert failed.value.hint.startswith("look again; blocked: evil.example:443")


async def test_who_calls_for_the_first_time_hears_nothing_of_before(lab: Lab) -> None:
    lab.refuse()
    assert await lab.hint() is None


@pytest.mark.parametrize("result", [Blob(b"x", "image/png"), None])
async def test_an_answer_without_room_leaves_the_hint_to_the_next_one(lab: Lab, result: Blob | None) -> None:
    async def events() -> Any:
        yield Event("output", {})

    def during() -> object:
        lab.refuse()
        return result or events()

    assert await lab.hint(during=during) is None
    assert await lab.hint()


async def test_who_used_the_session_hears_of_it_and_nobody_else(lab: Lab) -> None:
    await lab.call(caller="one", during=lambda: Ran(session_id="s"))
    await lab.call(caller="two", request=Run(session_id="t"))
    assert lab.hints.caller_of("bash:s") == "one"
    lab.refuse(session="bash:s")
    assert await lab.hint(caller="two") is None
    assert await lab.hint(caller="one")
    lab.refuse(session="bash:unknown")
    assert await lab.hint(caller="two")


async def test_what_pages_are_refused_is_for_those_who_use_the_browser_once_in_a_while(lab: Lab) -> None:
    await lab.call("page")
    lab.refuse(uid=991)
    assert await lab.hint() is None
    lab.refuse("b.example", uid=991)
    assert await lab.hint("page") == "blocked: b.example:443 by rule `default`; ask with request_access"
    lab.refuse("b.example", uid=991)
    lab.refuse()
    assert await lab.hint("page") is None


async def test_many_refusals_are_a_short_hint(lab: Lab) -> None:
    def during() -> None:
        for number in range(500):
            lab.refuse(f"h{number}.example")

    hint = await lab.hint(during=during)
    assert hint
    assert len(hint) < 300
    assert f"and {hints_module.MAX_REFUSALS - hints_module.MAX_NAMED} more" in hint


async def test_what_no_approval_opens_is_not_to_be_asked_for(lab: Lab) -> None:
    assert await lab.hint(during=lambda: lab.refuse(rule="packets", protocol="udp")) == "blocked: evil.example:443 by rule `packets`"


async def test_what_nobody_heard_in_time_is_no_news(lab: Lab) -> None:
    await lab.call()
    lab.refuse()
    lab.now += hints_module.RECENT_SECONDS + 1
    assert await lab.hint() is None


async def test_servers_that_are_away_and_calls_that_only_look_have_no_hint(lab: Lab) -> None:
    assert await lab.hint("see", during=lab.refuse) is None
    assert await lab.hint(during=lambda: lab.refuse(rule="unreachable")) is None


async def test_callers_are_remembered_to_a_limit(lab: Lab) -> None:
    for number in range(hints_module.MAX_CALLERS + 50):
        await lab.call(caller=f"c{number}", during=lambda number=number: Ran(session_id=f"s{number}"))  # type: ignore[misc]
    assert len(lab.hints._told) == hints_module.MAX_CALLERS


async def test_who_runs_programs_in_another_way_asks_for_what_was_refused(lab: Lab) -> None:
    lab.refuse("before.example")
    lab.now += 10
    lab.refuse()
    assert lab.hints.since("agent", 1005.0) == "blocked: evil.example:443 by rule `default`; ask with request_access"
    assert lab.hints.since("agent", 1005.0) is None
    lab.refuse("b.example")
    assert await lab.hint()
    assert lab.hints.since("agent", 1005.0) is None
