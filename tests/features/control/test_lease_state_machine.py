"""The lease over every order of events: never two holders, never a lost release, every wait ends."""

from collections.abc import Callable
from dataclasses import replace
from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sandbox_server.core import Caller, Conflict, Failure, HeldByHuman, PermissionDenied, ResourceExhausted
from sandbox_server.core.control import ALL_REACHES, Reach
from sandbox_server.features.control import lease_state_machine as machine
from sandbox_server.features.control.lease_state_machine import Lease, LeaseActor, LeaseTimes

TIMES = LeaseTimes(idle=100, countdown=10, cap=400, lost=20, request=15)
ANN, BOB, ROOT = LeaseActor("ann", person=True), LeaseActor("bob", person=True), LeaseActor("root", person=True, admin=True)
AGENT, OTHER = LeaseActor("agent", person=False), LeaseActor("key", person=False, admin=True)
ACTORS = (ANN, BOB, ROOT, AGENT, OTHER)
GUI: frozenset[Reach] = frozenset({"gui", "cdp"})
START = Lease()


def held(actor: LeaseActor = ANN, reach: frozenset[Reach] = ALL_REACHES, now: float = 0.0, *, viewing: bool = True) -> Lease:
    return machine.take(START, actor, reach, now, viewing=viewing)


def caller(actor: LeaseActor) -> Caller:
    return Caller(actor.name, person=actor.person)


# --- every order of events

reaches: st.SearchStrategy[frozenset[Reach]] = st.sampled_from([ALL_REACHES, GUI, frozenset({"shell"})])
actors = st.sampled_from(ACTORS)
names = st.sampled_from(["agent", "shared", "ann", "bob"])

type Step = Callable[[Lease, float], Lease]


@st.composite
def steps(draw: st.DrawFn) -> Step:
    """One thing that happens to the lease."""
    actor, reach, name, viewing = draw(actors), draw(reaches), draw(names), draw(st.booleans())
    step: Step = draw(
        st.sampled_from(
            [
                lambda lease, now: machine.take(lease, actor, reach, now, viewing=viewing),
                lambda lease, now: machine.give(lease, actor, name, reach, now, viewing=viewing),
                lambda lease, now: machine.release(lease, actor, now),
                lambda lease, now: machine.request(lease, actor, reach, now, TIMES),
                lambda lease, now: machine.grant(lease, actor, name, now, viewing=viewing),
                lambda lease, now: machine.withdraw(lease, actor.name),
                lambda lease, now: machine.freeze(lease, actor, now),
                lambda lease, now: machine.thaw(lease, actor, now),
                lambda lease, now: machine.hide(lease, actor, now, viewing=viewing),
                lambda lease, now: machine.show(lease, actor, now),
                lambda lease, now: machine.touch(lease, actor.name, now),
                lambda lease, now: machine.came(lease, actor.name),
                lambda lease, now: machine.went(lease, actor.name, now),
                lambda lease, now: machine.tick(lease, now, TIMES),
            ]
        )
    )
    return step


histories = st.lists(st.tuples(st.floats(0, 50), steps()), max_size=40)


def after(lease: Lease, step: Step, now: float) -> Lease:
    """What a step makes of the lease; a refusal leaves it."""
    try:
        return step(lease, now)
    except Failure:
        return lease


def run(history: list[tuple[float, Step]]) -> tuple[list[Lease], float]:
    now, found = 0.0, [START]
    for passed, step in history:
        now += passed
        found.append(after(found[-1], step, now))
    return found, now


@settings(max_examples=400, deadline=None)
@given(histories)
def test_there_are_never_two_holders(history: list[tuple[float, Step]]) -> None:
    for lease in run(history)[0]:
        for reach in ALL_REACHES:
            driving = {actor.name for actor in ACTORS if lease.holding.drives(caller(actor), reach)}
            people = {actor.name for actor in ACTORS if actor.person} & driving
            if lease.state != "shared":
                assert len(people) <= 1
                assert not people or driving == people, "a person and a program at once"
        assert (lease.holding.holder is not None) == (lease.state == "human") == bool(lease.holding.reach)


@settings(max_examples=400, deadline=None)
@given(histories)
def test_the_epoch_never_falls_and_grows_whenever_somebody_else_may_act(history: list[tuple[float, Step]]) -> None:
    leases = run(history)[0]
    for before, now in pairwise(leases):
        assert now.holding.epoch >= before.holding.epoch
        if now.holding.epoch == before.holding.epoch:
            assert now.holding == before.holding


@settings(max_examples=400, deadline=None)
@given(histories)
def test_every_wait_ends_though_nothing_more_happens(history: list[tuple[float, Step]]) -> None:
    leases, now = run(history)
    lease, turns = leases[-1], 0
    while (when := machine.due(lease, TIMES)) is not None:
        now = max(now, when)
        lease, turns = machine.tick(lease, now, TIMES), turns + 1
        assert turns <= 2 * machine.MAX_REQUESTS + 4, "what is due is done, and does not come back"
    assert lease.state in ("agent", "shared")
    assert lease.requests == ()


@settings(max_examples=400, deadline=None)
@given(histories, actors)
def test_a_release_is_never_lost(history: list[tuple[float, Step]], other: LeaseActor) -> None:
    leases, now = run(history)
    lease = leases[-1]
    holder = next((actor for actor in ACTORS if lease.state == "human" and actor.name == lease.holding.holder and actor.person), None)
    if holder is None:
        return
    released = machine.release(lease, holder, now)
    assert released.state == "agent"
    assert released.holding.epoch == lease.holding.epoch + 1
    late = after(released, lambda found, at: machine.touch(found, holder.name, at), now)
    assert after(late, lambda found, at: machine.went(found, other.name, at), now).state == "agent", "nothing that comes late takes it back"


@settings(max_examples=400, deadline=None)
@given(histories, actors)
def test_a_program_never_ends_what_a_person_holds(history: list[tuple[float, Step]], program: LeaseActor) -> None:
    leases, now = run(history)
    lease = leases[-1]
    if lease.state not in ("human", "frozen") or program.person or (lease.frozen_by and not lease.frozen_by.person):
        return
    for step in (
        lambda found, at: machine.release(found, program, at),
        lambda found, at: machine.give(found, program, "agent", ALL_REACHES, at, viewing=True),
        lambda found, at: machine.grant(found, program, "agent", at, viewing=True),
        lambda found, at: machine.take(found, program, ALL_REACHES, at, viewing=True),
        lambda found, at: machine.freeze(found, program, at),
        lambda found, at: machine.thaw(found, program, at),
    ):
        assert after(lease, step, now).holding == lease.holding


# --- single rules


def test_a_person_takes_from_the_agent_under_a_new_epoch() -> None:
    lease = held()
    assert (lease.state, lease.holding.holder, lease.holding.epoch) == ("human", "ann", 2)
    assert not lease.holding.admits(caller(AGENT), "gui")
    assert lease.holding.drives(caller(ANN), "shell")


def test_a_program_does_not_take() -> None:
    with pytest.raises(PermissionDenied, match="asks for it"):
        held(AGENT)


def test_another_person_is_refused_and_told_who_has_it() -> None:
    with pytest.raises(HeldByHuman, match="ann has control") as refused:
        machine.take(held(), BOB, ALL_REACHES, 1, viewing=True)
    assert refused.value.details == {
        "reason": "held_by_human",
        "epoch": 2,
        "holder": "ann",
        "state": "human",
        "reach": ["cdp", "gui", "shell"],
    }


def test_an_admin_seizes_it() -> None:
    assert machine.take(held(), ROOT, GUI, 1, viewing=True).holding.holder == "root"


def test_who_holds_the_screen_leaves_the_shell_to_programs_until_it_takes_that_too() -> None:
    lease = held(reach=GUI)
    assert lease.holding.admits(caller(AGENT), "shell")
    wider = machine.take(lease, ANN, frozenset({"shell"}), 5, viewing=True)
    assert (wider.holding.reach, wider.holding.epoch, wider.since) == (ALL_REACHES, 3, 0)
    assert not wider.holding.admits(caller(AGENT), "shell")


def test_taking_what_one_has_is_input_and_no_new_epoch() -> None:
    again = machine.take(held(), ANN, GUI, 7, viewing=True)
    assert (again.holding.epoch, again.active) == (2, 7)


def test_a_program_with_the_holders_name_is_not_the_holder() -> None:
    assert not held().holding.admits(Caller("ann"), "gui")


def test_a_persons_call_may_act_beside_the_agent_but_its_input_needs_the_lease() -> None:
    assert START.holding.admits(caller(ANN), "gui")
    assert not START.holding.drives(caller(ANN), "gui")
    shared = machine.give(START, ANN, "shared", ALL_REACHES, 0, viewing=True)
    assert all(shared.holding.drives(caller(actor), "gui") for actor in (ANN, BOB, AGENT))


def test_sharing_is_ended_by_a_person() -> None:
    shared = machine.give(held(), ANN, "shared", ALL_REACHES, 1, viewing=True)
    with pytest.raises(PermissionDenied, match="a person ends that"):
        machine.release(shared, AGENT, 2)
    assert machine.release(shared, BOB, 2).state == "agent"


def test_another_person_does_not_release_what_one_holds_but_an_admin_revokes_it() -> None:
    with pytest.raises(PermissionDenied, match="only that person"):
        machine.release(held(), BOB, 1)
    assert machine.release(held(), ROOT, 1).state == "agent"


@pytest.mark.parametrize(
    ("lease", "when", "why"),
    [
        (held(), 100, "idle"),
        (machine.touch(held(), "ann", 50), 150, "idle"),
        (machine.touch(held(), "bob", 50), 100, "idle"),
        (machine.touch(held(), "ann", 350), 400, "cap"),
        (machine.went(held(), "ann", 5), 25, "lost"),
        (machine.went(machine.went(held(), "ann", 5), "ann", 9), 25, "lost"),
        (machine.came(machine.went(held(), "ann", 5), "ann"), 100, "idle"),
        (machine.came(machine.went(held(), "ann", 5), "bob"), 25, "lost"),
        (held(viewing=False), 20, "lost"),
        (machine.freeze(START, ANN, 0), 400, "cap"),
    ],
)
def test_control_returns_by_itself(lease: Lease, when: float, why: str) -> None:
    assert machine.ending(lease, TIMES) == (when, why)
    assert machine.tick(lease, when - 0.5, TIMES).holding == lease.holding
    assert machine.tick(lease, when, TIMES).state == "agent"


def test_what_a_person_asks_of_the_agent_is_granted_when_nobody_answers() -> None:
    asked = machine.request(START, ANN, GUI, 0, TIMES)
    assert machine.tick(asked, 14, TIMES).state == "agent"
    granted = machine.tick(asked, 15, TIMES, frozenset({"ann"}))
    assert (granted.holding.holder, granted.holding.reach, granted.gone, granted.requests) == ("ann", GUI, None, ())


@pytest.mark.parametrize("asking", [BOB, AGENT])
def test_what_a_person_is_asked_for_is_dropped_when_nobody_answers(asking: LeaseActor) -> None:
    asked = machine.request(held(), asking, GUI, 0, TIMES)
    dropped = machine.tick(asked, 15, TIMES)
    assert (dropped.holding, dropped.requests) == (held().holding, ())


def test_the_holder_grants_a_request_and_nobody_else_does() -> None:
    asked = machine.request(machine.request(held(), BOB, GUI, 0, TIMES), AGENT, ALL_REACHES, 0, TIMES)
    with pytest.raises(PermissionDenied):
        machine.grant(asked, BOB, "bob", 1, viewing=True)
    with pytest.raises(Conflict, match="does not ask"):
        machine.grant(asked, ANN, "eve", 1, viewing=True)
    assert machine.grant(asked, ANN, "bob", 1, viewing=True).holding.holder == "bob"
    returned = machine.grant(asked, ANN, "agent", 1, viewing=True)
    assert (returned.state, [each.actor.name for each in returned.requests]) == ("agent", ["bob"])


def test_a_request_can_be_withdrawn_and_replaces_an_older_one_of_the_same_caller() -> None:
    twice = machine.request(machine.request(held(), BOB, GUI, 0, TIMES), BOB, ALL_REACHES, 5, TIMES)
    assert [(each.reach, each.until) for each in twice.requests] == [(ALL_REACHES, 20)]
    assert machine.withdraw(twice, "bob").requests == ()


def test_requests_are_limited() -> None:
    lease = held()
    for number in range(machine.MAX_REQUESTS):
        lease = machine.request(lease, LeaseActor(f"p{number}", person=True), GUI, 0, TIMES)
    with pytest.raises(ResourceExhausted):
        machine.request(lease, BOB, GUI, 0, TIMES)


def test_programs_that_ask_leave_room_for_people_who_do() -> None:
    lease = held()
    for number in range(machine.PROGRAM_REQUESTS):
        lease = machine.request(lease, LeaseActor(f"agent#{number}", person=False), GUI, 0, TIMES)
    with pytest.raises(ResourceExhausted):
        machine.request(lease, LeaseActor("agent#x", person=False), GUI, 0, TIMES)
    assert machine.request(lease, BOB, GUI, 0, TIMES).requests[-1].actor == BOB


def test_asking_for_what_one_has_changes_nothing() -> None:
    assert machine.request(held(), ANN, GUI, 0, TIMES) == held()
    assert machine.request(START, AGENT, GUI, 0, TIMES) == START


def test_nobody_acts_while_control_is_frozen() -> None:
    frozen = machine.freeze(machine.request(held(), BOB, GUI, 0, TIMES), ROOT, 1)
    assert frozen.requests == ()
    assert not any(frozen.holding.admits(caller(actor), "gui") or frozen.holding.drives(caller(actor), "gui") for actor in ACTORS)
    assert machine.freeze(frozen, ANN, 5) == frozen
    refusals: tuple[Callable[[], Lease], ...] = (
        lambda: machine.give(frozen, ROOT, "shared", ALL_REACHES, 2, viewing=True),
        lambda: machine.request(frozen, BOB, GUI, 2, TIMES),
    )
    for refused in refusals:
        with pytest.raises(HeldByHuman, match="frozen"):
            refused()


def test_a_person_thaws_what_anyone_froze_and_a_program_what_a_program_froze() -> None:
    frozen = machine.freeze(START, ANN, 0)
    with pytest.raises(PermissionDenied, match="a person thaws"):
        machine.thaw(frozen, OTHER, 1)
    assert machine.thaw(frozen, BOB, 1).state == "agent"
    assert machine.thaw(machine.freeze(START, AGENT, 0), OTHER, 1).state == "agent"
    with pytest.raises(PermissionDenied):
        machine.thaw(replace(frozen, frozen_by=None), AGENT, 1)


def test_a_program_does_not_freeze_a_person_out() -> None:
    with pytest.raises(PermissionDenied):
        machine.freeze(held(), OTHER, 1)


# --- private


def hidden(actor: LeaseActor = ANN) -> Lease:
    return machine.hide(START, actor, 0, viewing=True)


@given(histories)
@settings(max_examples=200)
def test_what_is_private_is_somebodys_who_holds_the_screen_or_frozen(history: list[tuple[float, Step]]) -> None:
    for lease in run(history)[0]:
        private = lease.holding.private
        if private is not None:
            assert lease.state in ("human", "frozen")
            assert lease.state == "frozen" or (lease.holding.holder == private and lease.holding.reach >= GUI)


def test_private_takes_the_screen_and_shows_it_to_that_person_alone() -> None:
    holding = hidden().holding
    assert (holding.state, holding.holder, holding.private, holding.reach) == ("human", "ann", "ann", GUI)
    assert holding.sees(caller(ANN))
    assert not any(holding.sees(caller(actor)) for actor in (BOB, ROOT, AGENT, OTHER))
    assert not holding.sees(Caller("ann")), "a program of the same name is not the person"


def test_who_holds_more_becomes_private_without_losing_it() -> None:
    lease = machine.hide(held(), ANN, 1, viewing=True)
    assert (lease.holding.reach, lease.holding.private, lease.holding.epoch) == (ALL_REACHES, "ann", 3)


def test_the_person_alone_ends_it_and_keeps_control() -> None:
    for actor in (BOB, ROOT, AGENT, LeaseActor("ann", person=False)):
        with pytest.raises(PermissionDenied, match="private"):
            machine.show(hidden(), actor, 1)
    shown = machine.show(hidden(), ANN, 1)
    assert (shown.state, shown.holding.private, shown.holding.epoch) == ("human", None, 3)
    assert machine.show(shown, ANN, 2) is shown


@pytest.mark.parametrize("to", ["agent", "shared"])
def test_it_ends_when_the_person_lets_others_act(to: str) -> None:
    assert machine.give(hidden(), ANN, to, ALL_REACHES, 1, viewing=True).holding.private is None


def test_it_ends_when_control_returns_by_the_clock() -> None:
    assert machine.tick(hidden(), 1000, TIMES).holding == machine.release(hidden(), ANN, 1).holding


def test_whoever_takes_over_is_private_from_then_on() -> None:
    assert machine.take(hidden(), ROOT, frozenset({"shell"}), 1, viewing=True).holding.private == "root"
    assert machine.give(hidden(), ANN, "bob", ALL_REACHES, 1, viewing=True).holding.private == "bob"


def test_it_goes_on_while_everything_is_frozen_and_a_stranger_does_not_end_that() -> None:
    frozen = machine.freeze(hidden(), BOB, 1)
    assert frozen.holding.private == "ann"
    with pytest.raises(HeldByHuman):
        machine.take(frozen, BOB, GUI, 2, viewing=True)
    assert machine.take(frozen, ANN, GUI, 2, viewing=True).holding.private == "ann"
    with pytest.raises(PermissionDenied, match="ann was private"):
        machine.thaw(frozen, BOB, 2)
    assert machine.thaw(frozen, ANN, 2).holding.private is None
    assert machine.thaw(frozen, ROOT, 2).holding.private is None


def test_a_program_is_not_private() -> None:
    with pytest.raises(PermissionDenied):
        machine.hide(START, AGENT, 0, viewing=True)
