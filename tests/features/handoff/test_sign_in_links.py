"""Links to what is asked of a person."""

import asyncio
import time
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from sandbox_server.core import ResourceExhausted
from sandbox_server.drivers.credentials.grants import Grant
from sandbox_server.drivers.credentials.tickets import MAX_OUTSTANDING, Tickets
from sandbox_server.features.handoff.handoff import Handoff
from sandbox_server.features.handoff.sign_in_links import SCOPES, HandoffLinks
from tests.patience import PATIENCE_SECONDS

pytestmark = pytest.mark.anyio

OPEN = Handoff(
    id="h-1234abcd5678",
    kind="free",
    reason="r",
    instructions="",
    url=None,
    region=None,
    choices=[],
    on_timeout="give_up",
    asked_by="agent",
    created_at=0,
    deadline_at=time.time() + 86_400,  # this is read long before the first test runs
    status="open",
)


class Ended:
    """Takes note of who is to be out."""

    def __init__(self) -> None:
        self.prefixes: list[str] = []
        self.told = asyncio.Event()

    async def __call__(self, prefix: str) -> None:
        self.prefixes.append(prefix)
        self.told.set()


@pytest.fixture
def tickets(tmp_path: Path) -> Tickets:
    return Tickets(str(tmp_path / "tickets"))


@pytest.fixture
async def ended() -> Ended:
    return Ended()


@pytest.fixture
async def links(tickets: Tickets, ended: Ended) -> AsyncIterator[HandoffLinks]:
    async with HandoffLinks(tickets, "https://here.example/", ended) as made:
        yield made


async def test_a_link_lets_somebody_see_and_control_once_until_the_request_ends(links: HandoffLinks, tickets: Tickets) -> None:
    link = links.make(OPEN)
    assert link
    address, _, ticket = link.partition("?ticket=")
    assert address == "https://here.example/view"
    grant = tickets.redeem(ticket, "/view")
    assert grant
    assert (grant.scopes, grant.handoff, grant.expires) == (frozenset({"view", "control"}), OPEN.id, OPEN.deadline_at)
    assert grant.caller.startswith("invited#1234abcd-")
    assert tickets.redeem(ticket, "/view") is None


async def test_with_the_end_of_the_request_who_came_by_its_links_is_out(links: HandoffLinks, ended: Ended) -> None:
    links.kept(OPEN)
    links.kept(OPEN.model_copy(update={"status": "claimed"}))
    links.kept(OPEN.model_copy(update={"status": "closed", "outcome": "done"}))
    async with asyncio.timeout(PATIENCE_SECONDS):
        await ended.told.wait()
    assert ended.prefixes == ["invited#1234abcd-"]


async def test_without_an_address_there_is_no_link(tickets: Tickets, ended: Ended) -> None:
    async with HandoffLinks(tickets, None, ended) as links:
        assert links.make(OPEN) is None


async def test_the_links_of_one_asker_make_room_for_a_person_and_take_no_others(links: HandoffLinks, tickets: Tickets) -> None:
    theirs = tickets.create(Grant("ann#1", SCOPES, person=True), 600, maker="ann", person=True)
    made = [OPEN.model_copy(update={"id": f"h-{number:012d}", "asked_by": f"agent#{number}"}) for number in range(MAX_OUTSTANDING)]
    for each in made[:-1]:
        links.make(each)
    with pytest.raises(ResourceExhausted):
        links.make(made[-1])
    mine = tickets.create(Grant("ben#1", SCOPES, person=True), 600, maker="ben", person=True)
    assert tickets.redeem(theirs, "/view")
    assert tickets.redeem(mine, "/view")
