"""One-time tickets."""

import os
import threading
import time
from pathlib import Path

import pytest

from sandbox_server.core.errors import ResourceExhausted
from sandbox_server.drivers.credentials import tickets as module
from sandbox_server.drivers.credentials.grants import Grant
from sandbox_server.drivers.credentials.invitation import Invitation
from sandbox_server.drivers.credentials.tickets import MAX_OF_ONE, UNFINISHED_SECONDS, Tickets, is_ticket
from tests.patience import PATIENCE_SECONDS

GRANT = Grant("key#1", frozenset({"view"}), "/vnc")


class Clock:
    """Seconds that a test sets."""

    def __init__(self) -> None:
        self.seconds = 1000.0

    def __call__(self) -> float:
        return self.seconds


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def tickets(tmp_path: Path, clock: Clock) -> Tickets:
    return Tickets(str(tmp_path / "tickets"), clock)


def test_a_ticket_is_redeemed_once(tickets: Tickets) -> None:
    ticket = tickets.create(GRANT, 30)
    assert tickets.redeem(ticket, "/vnc/index.html") == GRANT
    assert tickets.redeem(ticket, "/vnc/index.html") is None


def test_a_ticket_for_another_path_is_not_used_up(tickets: Tickets) -> None:
    ticket = tickets.create(GRANT, 30)
    assert tickets.redeem(ticket, "/terminal") is None
    assert tickets.redeem(ticket, "/vnc") == GRANT


def test_a_ticket_expires(tickets: Tickets, clock: Clock) -> None:
    ticket = tickets.create(GRANT, 30)
    clock.seconds += 30
    assert tickets.redeem(ticket, "/vnc") is None


def test_an_invented_ticket_is_nothing(tickets: Tickets) -> None:
    tickets.create(GRANT, 30)
    assert tickets.redeem(f"tk-{'A' * 43}", "/vnc") is None


def test_a_ticket_outlives_the_process_that_made_it(tickets: Tickets, tmp_path: Path, clock: Clock) -> None:
    ticket = tickets.create(GRANT, 30)
    assert Tickets(str(tmp_path / "tickets"), clock).redeem(ticket, "/vnc") == GRANT


def test_the_ticket_itself_is_stored_nowhere(tickets: Tickets, tmp_path: Path) -> None:
    ticket = tickets.create(GRANT, 30)
    (stored,) = (tmp_path / "tickets").iterdir()
    assert ticket not in stored.name
    assert ticket[3:] not in stored.read_text()
    assert stored.stat().st_mode & 0o777 == 0o600


def test_of_many_at_once_one_redeems_it(tickets: Tickets) -> None:
    ticket = tickets.create(GRANT, 30)
    start, won = threading.Barrier(8), []

    def redeem() -> None:
        start.wait(PATIENCE_SECONDS)
        won.append(tickets.redeem(ticket, "/vnc"))

    threads = [threading.Thread(target=redeem) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(PATIENCE_SECONDS)
    assert sorted(map(str, won)).count(str(GRANT)) == 1
    assert won.count(None) == 7


def test_too_many_that_wait_are_refused_until_they_expire(tickets: Tickets, clock: Clock) -> None:
    for _ in range(MAX_OF_ONE):
        tickets.create(GRANT, 30)
    with pytest.raises(ResourceExhausted) as refused:
        tickets.create(GRANT, 30)
    assert refused.value.retry_after == 30
    clock.seconds += 31
    assert is_ticket(tickets.create(GRANT, 30))


def test_another_programs_ticket_is_not_taken_for_ours() -> None:
    assert not is_ticket("ST-1-abc")
    assert not is_ticket("")


def test_a_ticket_for_several_lets_each_in_as_somebody_else(tickets: Tickets) -> None:
    ticket = tickets.create(GRANT, 30, uses=2)
    first, second = tickets.redeem(ticket, "/vnc"), tickets.redeem(ticket, "/vnc")
    assert first
    assert second
    assert len({GRANT.caller, first.caller, second.caller}) == 3
    assert first.scopes == GRANT.scopes
    assert tickets.redeem(ticket, "/vnc") is None


def test_a_ticket_that_is_being_made_is_not_swept(tickets: Tickets, clock: Clock, monkeypatch: pytest.MonkeyPatch) -> None:
    clock.seconds = time.time() + 1
    others = []
    times = os.utime

    def meanwhile(file: int, when: tuple[float, float]) -> None:
        monkeypatch.setattr(os, "utime", times)
        others.append(tickets.create(GRANT, 30))
        times(file, when)

    monkeypatch.setattr(os, "utime", meanwhile)
    ticket = tickets.create(GRANT, 30)
    assert [tickets.redeem(one, "/vnc") for one in (ticket, *others)] == [GRANT, GRANT]


def test_what_was_never_finished_is_swept_in_time(tickets: Tickets, clock: Clock, tmp_path: Path) -> None:
    tickets.create(GRANT, 30)
    left = tmp_path / "tickets" / f"new-{'0' * 64}"
    left.touch()
    clock.seconds = time.time() + UNFINISHED_SECONDS + 1
    tickets.create(GRANT, 30)
    assert not left.exists()


@pytest.fixture
def few(monkeypatch: pytest.MonkeyPatch) -> None:
    """As many tickets as a test wants to make."""
    for name, most in (("MAX_OUTSTANDING", 8), ("PROGRAMS_OUTSTANDING", 6), ("MAX_OF_ONE", 4)):
        monkeypatch.setattr(module, name, most)


def taken(tickets: Tickets, maker: str, count: int, *, person: bool = False) -> list[str]:
    """Tickets of one maker."""
    return [tickets.create(GRANT, 30, maker=maker, person=person) for _ in range(count)]


@pytest.mark.usefixtures("few")
def test_what_a_program_makes_by_its_tickets_is_of_its_own_share(tickets: Tickets) -> None:
    taken(tickets, "agent", 2)
    taken(tickets, "agent#12", 2)
    with pytest.raises(ResourceExhausted, match=r"agent has reached its limit of \d+ tickets"):
        tickets.create(GRANT, 30, maker="agent#34")
    taken(tickets, "other", 2)
    with pytest.raises(ResourceExhausted, match="programs have reached their limit"):
        tickets.create(GRANT, 30, maker="third")


@pytest.mark.usefixtures("few")
def test_a_person_has_a_ticket_whatever_programs_have(tickets: Tickets) -> None:
    programs = taken(tickets, "agent", 4) + taken(tickets, "other", 2)
    people = taken(tickets, "ann#1", 3, person=True)
    assert [tickets.redeem(ticket, "/vnc") for ticket in people] == [GRANT] * 3
    assert sum(tickets.redeem(ticket, "/vnc") is not None for ticket in programs) == 5


def invited(tickets: Tickets, number: int, uses: int = 1) -> str:
    invitation = Invitation(f"i-{number}", "ann", None, uses, 1000.0)
    return tickets.create(Grant("guest#1", frozenset({"view"})), 30, uses, person=True, invitation=invitation)


def test_invitations_are_listed_until_they_are_used_up_or_expire(tickets: Tickets, clock: Clock) -> None:
    assert tickets.invitations() == []
    tickets.create(GRANT, 30)
    first, second = invited(tickets, 1), invited(tickets, 2, uses=2)
    assert {(each.invitation.id, each.left, each.expires_at) for each in tickets.invitations()} == {("i-1", 1, 1030.0), ("i-2", 2, 1030.0)}
    assert tickets.redeem(first, "/view")
    assert tickets.redeem(second, "/view")
    assert [(each.invitation.id, each.left) for each in tickets.invitations()] == [("i-2", 1)]
    clock.seconds += 30
    assert tickets.invitations() == []


def test_a_withdrawn_invitation_lets_nobody_in(tickets: Tickets) -> None:
    gone, kept = invited(tickets, 1, uses=2), invited(tickets, 2)
    assert tickets.redeem(gone, "/view")
    assert tickets.withdraw("i-1")
    assert not tickets.withdraw("i-1")
    assert tickets.redeem(gone, "/view") is None
    assert tickets.redeem(kept, "/view")
