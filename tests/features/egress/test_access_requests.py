import asyncio
from collections.abc import AsyncIterator
from typing import Any

import pytest

from sandbox_server.core import Conflict, InvalidArgument, ResourceExhausted, Unavailable
from sandbox_server.core.approval import ApprovalDecision, ApprovalQuestion
from sandbox_server.drivers.egress.egress_client import EgressClient
from sandbox_server.features.egress import access_requests
from sandbox_server.features.egress.access_requests import AccessRequest, AccessRequests, RequestAccess
from sandbox_server.features.egress.grants import EgressDestination, GrantScope
from tests.egress.conftest import EgressLab
from tests.features.egress.conftest import AGENT, OWNER, Person, Ruling, allowed, put
from tests.secret_servers import USERS

pytestmark = pytest.mark.anyio


@pytest.fixture
async def requests(client: EgressClient, ruling: Ruling, person: Person) -> AsyncIterator[AccessRequests]:
    async with AccessRequests(client, person.ask, ruling.answers, USERS) as made:
        yield made


async def asked(requests: AccessRequests, host: str = "api.example", **more: Any) -> AccessRequest:
    """What an agent is answered."""
    given = RequestAccess(host=host, reason="the task", **{"wait": 20, **more})
    answered: AccessRequest = await requests.request_access(given, AGENT)
    return answered


@pytest.mark.parametrize("answer", ["once", "task", "always"])
async def test_a_person_lets_an_agent_reach_a_host(lab: EgressLab, requests: AccessRequests, person: Person, answer: Any) -> None:
    person.outcome = answer
    answered = await asked(requests)
    assert (answered.status, answered.answer) == ("allowed", answer)
    assert allowed(lab, "api.example") == f"allow by {answered.rule}"
    assert bool(answered.until) is (answer != "always")
    [question] = person.asked
    assert (question.subject, question.asked_by) == ("network", "agent")
    assert question.details == {"host": "api.example", "port": "443", "protocol": "the usual one", "reason": "the task"}


async def test_what_a_person_denies_stays_closed(lab: EgressLab, requests: AccessRequests) -> None:
    answered = await asked(requests)
    assert (answered.status, answered.answer, answered.rule) == ("denied", "deny", None)
    assert allowed(lab, "api.example") == "deny by default"


async def test_what_is_allowed_already_is_asked_of_nobody(lab: EgressLab, requests: AccessRequests, person: Person) -> None:
    put(lab, {"rules": [{"action": "allow", "hosts": ["api.example"], "name": "docs"}]})
    answered = await asked(requests)
    assert (answered.status, answered.rule, answered.answer) == ("allowed", "docs", None)
    assert person.asked == []


class Slow(Person):
    """A person who takes time."""

    def __init__(self) -> None:
        super().__init__("once")
        self.decides = asyncio.Event()

    async def ask(self, question: ApprovalQuestion) -> ApprovalDecision:
        decision = await super().ask(question)
        await self.decides.wait()
        return decision


async def test_the_same_request_waits_for_the_same_answer(client: EgressClient, ruling: Ruling) -> None:
    person = Slow()
    async with AccessRequests(client, person.ask, ruling.answers, USERS) as requests:
        first = await asked(requests, wait=0)
        assert first.status == "waiting"
        waiting = asyncio.ensure_future(asked(requests, "API.example."))
        await asyncio.sleep(0.05)
        assert len(person.asked) == 1
        person.decides.set()
        assert (await waiting).status == "allowed"
        assert (await waiting).id == first.id


async def test_an_agent_may_have_few_requests_open(client: EgressClient, ruling: Ruling) -> None:
    person = Slow()
    async with AccessRequests(client, person.ask, ruling.answers, USERS) as requests:
        for number in range(access_requests.MAX_OPEN_OF_ONE):
            await asked(requests, f"h{number}.example", wait=0)
        with pytest.raises(ResourceExhausted):
            await asked(requests, "more.example", wait=0)
        answered = await requests.request_access(RequestAccess(host="more.example", reason="x"), OWNER)
        assert answered.status == "waiting"


async def test_requests_are_remembered_to_a_limit(requests: AccessRequests, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(access_requests, "MAX_KNOWN", 3)
    for number in range(6):
        await asked(requests, f"h{number}.example")
    assert len(requests._known) == 3


@pytest.mark.parametrize("host", ["169.254.169.254", "127.0.0.1", "::1", "[::ffff:127.0.0.1]", "fe80::1", "224.0.0.1"])
async def test_what_no_approval_opens_is_asked_of_nobody(requests: AccessRequests, person: Person, host: str) -> None:
    with pytest.raises(Conflict, match="never opened"):
        await asked(requests, host)
    assert person.asked == []


async def test_a_host_of_a_private_network_may_be_opened_by_its_address(lab: EgressLab, requests: AccessRequests, person: Person) -> None:
    person.outcome = "once"
    answered = await asked(requests, "10.1.2.3")
    assert (await requests._client.ask("decide", host="10.1.2.3", port=443))["rule"] == answered.rule
    assert (await requests._client.ask("decide", host="10.1.2.4", port=443))["rule"] == "protected"


async def test_what_is_no_host_is_refused(requests: AccessRequests) -> None:
    with pytest.raises(InvalidArgument):
        await asked(requests, "*.example")


async def test_an_answer_that_cannot_be_put_in_force_is_said(ruling: Ruling, client: EgressClient) -> None:
    person = Slow()
    async with AccessRequests(client, person.ask, ruling.answers, USERS) as requests:
        await asked(requests, wait=0)
        client._path = "/nowhere"
        person.decides.set()
        answered = await asyncio.wait_for(_settled(requests), 20)
        assert answered.status == "denied"
        assert "could not be put in force" in answered.why


async def _settled(requests: AccessRequests) -> AccessRequest:
    [known] = requests._known.values()
    assert known.deciding
    await known.deciding
    return known.shown


async def test_nothing_is_asked_while_the_process_is_away(requests: AccessRequests, person: Person) -> None:
    requests._client._path = "/nowhere"
    with pytest.raises(Unavailable):
        await asked(requests)
    assert person.asked == []


async def test_what_a_person_allowed_to_the_agents_programs_is_asked_of_nobody(
    person: Person, requests: AccessRequests, ruling: Ruling
) -> None:
    place = EgressDestination(host="a.example", port=443, protocol="tls")
    await ruling.grants.add(place, "ada", until=4e9, scope=GrantScope(users=(0, 1000)))
    assert (await requests.request_access(RequestAccess(host="a.example", reason="r"), AGENT)).status == "allowed"
    await ruling.grants.add(EgressDestination(host="b.example", port=443), "ada", until=4e9, scope=GrantScope(users=(991,)))
    assert (await requests.request_access(RequestAccess(host="b.example", reason="r"), AGENT)).status == "waiting"
