"""The lease as a state machine: events and a clock in, the next lease out. No sockets, no tasks.

`agent`: programs act. `human`: one person acts, and programs on what that person does not hold. `shared`: everybody acts. `frozen`: nobody.
Whatever is not `agent` or `shared` ends by itself: see `due`.
"""

from dataclasses import dataclass, field, replace
from typing import Literal

from sandbox_server.core.control import ALL_REACHES, ON_SCREEN, Holding, Reach, State
from sandbox_server.core.errors import Conflict, Failure, PermissionDenied, ResourceExhausted

MAX_REQUESTS = 16
PROGRAM_REQUESTS = 12

type Ending = Literal["idle", "cap", "lost"]
"""Why a lease ends by itself: no input, held too long, or no viewer of its holder is connected."""


@dataclass(frozen=True, slots=True)
class LeaseTimes:
    """All in seconds."""

    idle: float = 600.0
    """After so long without the holder's input control returns."""
    countdown: float = 30.0
    """So long before that the holder is told."""
    cap: float = 3600.0
    """The longest that one holder, or a freeze, may last."""
    lost: float = 30.0
    """After the holder's last viewer is gone."""
    request: float = 60.0
    """How long a request waits for an answer."""


@dataclass(frozen=True, slots=True)
class LeaseActor:
    """Who does something to the lease."""

    name: str
    person: bool
    admin: bool = False


@dataclass(frozen=True, slots=True)
class ControlRequest:
    """Somebody waits for control."""

    actor: LeaseActor
    reach: frozenset[Reach]
    until: float
    succeeds: bool
    """Whether it is granted when nobody answers: what the agent is asked for. What a person is asked for is not."""


@dataclass(frozen=True, slots=True)
class Lease:
    """Times are readings of one clock, in seconds."""

    holding: Holding = field(default_factory=Holding)
    since: float = 0.0
    active: float = 0.0
    """The holder's last input."""
    gone: float | None = None
    """Since when the holder has no viewer; None while there is one, and where nobody holds it."""
    requests: tuple[ControlRequest, ...] = ()
    frozen_by: LeaseActor | None = None

    @property
    def state(self) -> State:
        """Its state."""
        return self.holding.state


def take(lease: Lease, actor: LeaseActor, reach: frozenset[Reach], now: float, *, viewing: bool) -> Lease:
    """Seize control: from the agent, or from another person by an admin. A holder who takes more keeps what it has.

    From a freeze everything is taken, so that the agent gets nothing. Raises PermissionDenied for a program, HeldByHuman while somebody
    else holds it, or it is frozen and private.
    """
    if not actor.person:
        raise PermissionDenied("a program does not take control: it asks for it with POST /v1/control/request")
    if not actor.admin and (_held_by_another(lease, actor) or lease.holding.private not in (None, actor.name)):
        raise lease.holding.refusal()
    if lease.state == "frozen":
        return _held(lease, actor.name, ALL_REACHES, now, viewing=viewing)
    if _holds(lease, actor):
        return _widened(lease, reach, now)
    return _held(lease, actor.name, reach, now, viewing=viewing)


def give(lease: Lease, actor: LeaseActor, to: str, reach: frozenset[Reach], now: float, *, viewing: bool) -> Lease:
    """Hand control to `agent`, to everybody (`shared`), or to a person by name. Raises as `release` does."""
    if to == "agent":
        return release(lease, actor, now)
    _may_end(lease, actor)
    if to == "shared":
        return lease if lease.state == "shared" else _next(lease, "shared", now)
    return _held(lease, to, reach if lease.state != "human" else lease.holding.reach, now, viewing=viewing)


def release(lease: Lease, actor: LeaseActor, now: float) -> Lease:
    """Let control go back to the agent; nothing where it has it. Raises PermissionDenied for what another person holds."""
    if lease.state == "agent":
        return lease
    _may_end(lease, actor)
    return _next(lease, "agent", now)


def request(lease: Lease, actor: LeaseActor, reach: frozenset[Reach], now: float, times: LeaseTimes) -> Lease:
    """Ask for control. Nothing for who has it. Raises ResourceExhausted when too many wait."""
    if lease.state == "frozen":
        raise lease.holding.refusal()
    if _holds(lease, actor) or (not actor.person and lease.state != "human"):
        return lease
    others = tuple(asked for asked in lease.requests if asked.actor.name != actor.name)
    if len(others) >= MAX_REQUESTS or (not actor.person and sum(not asked.actor.person for asked in others) >= PROGRAM_REQUESTS):
        raise ResourceExhausted(f"{MAX_REQUESTS} others wait for control already", retry_after=times.request)
    return replace(
        lease, requests=(*others, ControlRequest(actor, reach, now + times.request, succeeds=actor.person and lease.state != "human"))
    )


def grant(lease: Lease, actor: LeaseActor, name: str, now: float, *, viewing: bool) -> Lease:
    """Answer a request with yes. Raises Conflict where nobody of that name asked, and as `release` does."""
    asked = next((asked for asked in lease.requests if asked.actor.name == name), None)
    if asked is None:
        raise Conflict(f"{name!r} does not ask for control", subject=name)
    _may_end(lease, actor)
    if not asked.actor.person:
        return _next(lease, "agent", now)
    return _held(lease, name, asked.reach, now, viewing=viewing)


def withdraw(lease: Lease, name: str) -> Lease:
    """Take a request back, or answer it with no."""
    return replace(lease, requests=tuple(asked for asked in lease.requests if asked.actor.name != name))


def freeze(lease: Lease, actor: LeaseActor, now: float) -> Lease:
    """Let nobody act; whoever held control loses it. Raises PermissionDenied for a program while a person holds it."""
    if lease.state == "frozen":
        return lease
    if lease.state == "human" and not actor.person:
        raise _not_yours(lease)
    return replace(_next(lease, "frozen", now), frozen_by=actor)


def hide(lease: Lease, actor: LeaseActor, now: float, *, viewing: bool) -> Lease:
    """Begin what only this person sees, for which screen and pages are taken first. Raises as `take` does."""
    taken = take(lease, actor, ON_SCREEN, now, viewing=viewing)
    if taken.holding.private:
        return taken
    holding = replace(taken.holding, epoch=lease.holding.epoch + 1, private=actor.name)
    return replace(taken, holding=holding, active=now)


def show(lease: Lease, actor: LeaseActor, now: float) -> Lease:
    """Let everybody see again; the person keeps control. Raises PermissionDenied for everybody else."""
    if lease.holding.private is None:
        return lease
    if not actor.person or actor.name != lease.holding.private:
        raise PermissionDenied(f"{lease.holding.private} is private: only that person ends it", holder=lease.holding.holder)
    return replace(lease, holding=replace(lease.holding, epoch=lease.holding.epoch + 1, private=None), active=now)


def thaw(lease: Lease, actor: LeaseActor, now: float) -> Lease:
    """Let the agent act again after a freeze. Raises PermissionDenied for a program, unless a program froze it.

    What was private when it froze stays so; that person ends it, or an admin.
    """
    if lease.state != "frozen":
        return lease
    if lease.holding.private not in (None, actor.name) and not (actor.person and actor.admin):
        raise PermissionDenied(f"{lease.holding.private} was private when it froze: that person thaws it, or an admin")
    if not actor.person and (lease.frozen_by is None or lease.frozen_by.person):
        raise PermissionDenied("a person froze control: a person thaws it")
    return _next(lease, "agent", now)


def touch(lease: Lease, name: str, now: float) -> Lease:
    """Note the holder's input."""
    return replace(lease, active=max(now, lease.active)) if lease.holding.holder == name else lease


def came(lease: Lease, name: str) -> Lease:
    """A viewer of somebody's connected."""
    return replace(lease, gone=None) if lease.holding.holder == name else lease


def went(lease: Lease, name: str, now: float) -> Lease:
    """Somebody's last viewer disconnected."""
    return replace(lease, gone=now) if lease.holding.holder == name and lease.gone is None else lease


def ending(lease: Lease, times: LeaseTimes) -> tuple[float, Ending] | None:
    """When and why control returns by itself, if nothing happens until then."""
    if lease.state == "frozen":
        return lease.since + times.cap, "cap"
    if lease.state != "human":
        return None
    ends: list[tuple[float, Ending]] = [(lease.active + times.idle, "idle"), (lease.since + times.cap, "cap")]
    if lease.gone is not None:
        ends.append((lease.gone + times.lost, "lost"))
    return min(ends)


def due(lease: Lease, times: LeaseTimes) -> float | None:
    """When `tick` has something to do next; None where nothing will come by itself."""
    ends = ending(lease, times)
    return min([asked.until for asked in lease.requests] + ([ends[0]] if ends else []), default=None)


def tick(lease: Lease, now: float, times: LeaseTimes, viewing: frozenset[str] = frozenset()) -> Lease:
    """Do what is due: end a lease, grant or drop a request that nobody answered. `viewing` are the people who have a viewer."""
    ends = ending(lease, times)
    if ends and ends[0] <= now:
        return _next(lease, "agent", now)
    late = [asked for asked in lease.requests if asked.until <= now]
    granted = next((asked for asked in late if asked.succeeds and lease.state != "human"), None)
    if granted:
        return _held(lease, granted.actor.name, granted.reach, now, viewing=granted.actor.name in viewing)
    return replace(lease, requests=tuple(asked for asked in lease.requests if asked not in late))


def _held(lease: Lease, name: str, reach: frozenset[Reach], now: float, *, viewing: bool) -> Lease:
    """What was private stays so: for its new holder."""
    reach = reach | ON_SCREEN if reach and lease.holding.private else reach
    return _next(lease, "human", now, name, reach or ALL_REACHES, gone=None if viewing else now)


def _widened(lease: Lease, reach: frozenset[Reach], now: float) -> Lease:
    wider = lease.holding.reach | reach
    if wider == lease.holding.reach:
        return touch(lease, lease.holding.holder or "", now)
    holding = replace(lease.holding, epoch=lease.holding.epoch + 1, reach=wider)
    return replace(lease, holding=holding, active=now)


def _next(
    lease: Lease, state: State, now: float, holder: str | None = None, reach: frozenset[Reach] = frozenset(), gone: float | None = None
) -> Lease:
    """The lease after somebody else may act: under a higher epoch, with the requests that are not answered by that."""
    left = tuple(asked for asked in lease.requests if asked.actor.name != holder and (asked.actor.person or state == "human"))
    private = lease.holding.private and {"human": holder, "frozen": lease.holding.private}.get(state)
    return Lease(Holding(lease.holding.epoch + 1, state, holder, reach, private), now, now, gone, () if state == "frozen" else left)


def _holds(lease: Lease, actor: LeaseActor) -> bool:
    return actor.person and lease.state == "human" and lease.holding.holder == actor.name


def _held_by_another(lease: Lease, actor: LeaseActor) -> bool:
    return lease.state == "human" and not _holds(lease, actor)


def _may_end(lease: Lease, actor: LeaseActor) -> None:
    """Raise unless the actor may end what is: anyone the agent's turn, a person sharing, the holder or an admin what a person holds."""
    if lease.state == "frozen":
        raise lease.holding.refusal()
    if lease.state == "shared" and not actor.person:
        raise PermissionDenied("a person shares control with you: a person ends that")
    if _held_by_another(lease, actor) and not (actor.person and actor.admin):
        raise _not_yours(lease)


def _not_yours(lease: Lease) -> Failure:
    return PermissionDenied(f"{lease.holding.holder} has control: only that person lets it go, or an admin", holder=lease.holding.holder)
