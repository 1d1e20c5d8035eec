import asyncio
from pathlib import Path
from typing import Any

import pytest

from sandbox_server.drivers.egress.policy import Destination, HttpRequest
from sandbox_server.drivers.egress.socket_owner import SocketOwner
from sandbox_server.egress.approvals import AskedRequest
from sandbox_server.egress.private_time import NOBODY, PrivateTime
from tests.egress.conftest import EgressLab, anyio_backend, lab
from tests.patience import eventually

__all__ = ["anyio_backend", "lab"]
pytestmark = pytest.mark.anyio
DESKTOP, AGENT = {"uid": 991, "inode": 7}, {"uid": 1000, "inode": 8}
ASKED = Destination(443, "ask.example")


def get(host: str) -> bytes:
    return f"GET / HTTP/1.1\r\nHost: {host}\r\n\r\n".encode()


def begin(found: EgressLab, person: str | None = "ann") -> None:
    """What the API does when private mode begins for somebody, or ends."""
    found.server.private.operation({"person": person, "users": [991]})


def test_what_the_desktop_may_have_caused_is_the_persons_and_what_programs_did_is_not() -> None:
    private = PrivateTime()
    assert private.person_of(991, 7) is None
    private.operation({"person": "ann", "users": [991, 13]})
    owners = {"desktop": (991, 7), "proxy": (13, 7), "program": (1000, 7), "root": (0, 7), "closed": (0, 0), "unknown": (None, 0)}
    assert {name: private.person_of(*owner) for name, owner in owners.items()} == {
        "desktop": "ann",
        "proxy": "ann",
        "program": None,
        "root": None,
        "closed": "ann",
        "unknown": "ann",
    }
    private.operation({"person": None, "users": [991]})
    assert private.person_of(991, 7) is None


def test_the_next_process_begins_with_who_is_private(tmp_path: Path) -> None:
    path = str(tmp_path / "private.json")
    PrivateTime(path).operation({"person": "ann", "users": [991]})
    assert PrivateTime(path).person_of(991, 7) == "ann"
    with pytest.raises(TypeError):
        PrivateTime(path).operation({"person": 1, "users": []})
    assert PrivateTime(path).person == "ann", "what is malformed changes nothing"


def test_a_connection_of_two_peoples_private_time_is_shown_to_nobody() -> None:
    private = PrivateTime()
    private.operation({"person": "ann", "users": [991]})
    owner = private.marked(SocketOwner(991, 7))
    assert owner
    assert owner.private == "ann"
    private.operation({"person": None, "users": [991]})
    assert private.marked(owner) == owner, "it stays hers when the time is over"
    private.operation({"person": "bob", "users": [991]})
    found = private.marked(owner)
    assert found
    assert found.private == NOBODY


async def test_what_is_told_of_a_connection_says_whose_it_is_and_is_not_counted(lab: EgressLab) -> None:
    lab.rules(lab.allow("a.example"))
    await lab.serve(80)
    begin(lab)
    await lab.said("a.example", 80, get("a.example"), 5)
    await lab.said("evil.example", 80, get("evil.example"))
    told = [await lab.event("open"), await lab.event("refused")]
    assert [(event["host"], event["private"]) for event in told] == [("a.example", "ann"), ("evil.example", "ann")]
    assert not {"open", "refused"} & set(lab.server.events.counts)


async def test_one_that_was_open_before_is_the_persons_from_then_on_and_stays_it(lab: EgressLab) -> None:
    lab.rules(lab.allow("a.example"))
    await lab.serve(80)
    reader, writer = await lab.connect("a.example", 80)
    writer.write(get("a.example"))
    async with asyncio.timeout(20):
        await reader.readexactly(5)
    assert "private" not in await lab.event("open")
    begin(lab)
    begin(lab, None)
    writer.close()
    closed = await lab.event("close")
    assert closed["private"] == "ann"


async def test_one_that_is_refused_after_the_time_began_in_it(lab: EgressLab) -> None:
    lab.rules({"action": "ask", "hosts": ["ask.example"], "name": "asks"})
    begin(lab)
    _, writer = await lab.connect("ask.example", 80)
    writer.write(get("ask.example"))
    asked = await lab.event("ask")
    begin(lab, None)
    lab.server.approvals.answer(asked["ask"], allowed=False)
    refused = await lab.event("refused")
    assert (asked["private"], refused["private"]) == ("ann", "ann")
    writer.close()


async def test_a_persons_answer_holds_for_her_time_and_no_program_gets_it(lab: EgressLab) -> None:
    approvals = lab.server.approvals
    begin(lab)

    def asks(told: dict[str, Any]) -> "asyncio.Task[bool]":
        return asyncio.create_task(approvals.ask(ASKED, "asks", told))

    hers, programs = asks(DESKTOP), asks(AGENT)
    await eventually(lambda: len(approvals.open) == 2, told=lambda: str(approvals.open))
    [question] = [each for each in approvals.open if each.get("private") == "ann"]
    approvals.answer(question["ask"], allowed=True)
    async with asyncio.timeout(20):
        assert await hers
        assert await asks(DESKTOP), "the next one of her time is not asked about again"
    assert not programs.done()
    [other] = approvals.open
    assert "private" not in other
    begin(lab, None)
    later = asks(DESKTOP)
    approvals.answer(other["ask"], allowed=False)
    assert not await programs
    assert not await later, "after it the desktop's is a question like any other"


async def test_a_request_of_private_time_is_asked_about_each_time(lab: EgressLab) -> None:
    async def nothing() -> bytes:
        return b""

    approvals = lab.server.approvals
    begin(lab)
    for _ in range(2):
        asking = asyncio.create_task(approvals.ask(ASKED, "asks", DESKTOP, AskedRequest(HttpRequest("GET", "/"), nothing)))
        await eventually(lambda: len(approvals.open) == 1)
        assert approvals.open[0]["private"] == "ann"
        approvals.answer(approvals.open[0]["ask"], allowed=True)
        async with asyncio.timeout(20):
            assert await asking
