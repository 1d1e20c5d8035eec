"""Who drives, as callers see it: the state of the lease, who asks for it, who watches."""

from typing import Literal

from sandbox_server.core import Caller, Model
from sandbox_server.core.control import Reach, State
from sandbox_server.core.receipt import Receipt
from sandbox_server.features.control import lease_state_machine as machine
from sandbox_server.features.control.lease_keeper import LeaseKeeper
from sandbox_server.features.control.paused_agent import PausedAgent


class ControlRequested(Model):
    subject: str
    person: bool
    scope: list[Reach]
    ends_in: float
    """Seconds until the request is granted, where it is the agent that is asked, or dropped."""


type Role = Literal["agent", "view", "control", "admin"]


class ControlViewer(Model):
    name: str
    role: Role
    """What this person may do at most."""
    you: bool


class You(Model):
    name: str
    person: bool
    role: Role
    driving: bool
    """Whether your mouse and keyboard count now."""
    sees: bool
    """Whether you may see the screen and the pages now."""


class Returning(Model):
    seconds: float
    """Until the agent has control again, if nothing happens."""
    reason: Literal["idle", "cap", "lost"]
    """No input, held for the longest time, or no page of the holder's is open."""
    soon: bool
    """Whether the holder is to be told now."""


class ControlState(Model):
    state: State
    """`agent`: programs act. `human`: one person does. `shared`: everybody. `frozen`: nobody."""
    holder: str | None
    """The person who has control; null for none."""
    epoch: int
    """Grows whenever somebody else may act. Quote it, as `X-Control-Epoch` or `?epoch=`, in an action that must not come late."""
    scope: list[Reach]
    """What the holder has; programs go on with the rest."""
    private: str | None
    """The person who alone sees the screen and the pages; everybody else, programs above all, is refused with 423. Null: nobody does."""
    held_for: float
    """Seconds since the last change."""
    returning: Returning | None
    """When control returns by itself; null where it does not."""
    requests: list[ControlRequested]
    """Who waits for control."""
    viewers: list[ControlViewer]
    """The people who have a page open."""
    take: Literal["implicit", "click", "ask"]
    """How a person takes control here."""
    agent_seen: bool
    """Whether a program has called this sandbox since it started."""
    paused: PausedAgent | None = None
    """What of the agent's stands still; null: its programs go on."""
    receipt: Receipt | None = None
    """What the last person who had control changed; null while one has it, and for a moment after."""
    you: You


class HiddenState(ControlState):
    fresh: bool
    """Whether a window was opened for you, with nothing of the agent's in it."""


class ControlChange(Model):
    kind: str
    """What happened, such as `taken`, `released`, `given`, `returned:idle`, `frozen`, `came`, `private:button`,
    `private:focus`, `private:handoff`, `public`, `receipt`,
    `paused`, `resumed`, `checkpoint:made`, `checkpoint:restored` ...; `state` for how it is at first."""
    by: str
    """Who did it; empty where nobody did."""
    note: str = ""
    """What there is to say of it, such as which programs were stopped."""
    control: ControlState


def state_of(keeper: LeaseKeeper, caller: Caller, lease: machine.Lease | None = None) -> ControlState:
    """How the lease stands, or stood, as one caller sees it."""
    lease = lease or keeper.lease
    left = keeper.remaining(lease)
    return ControlState(
        state=lease.state,
        holder=lease.holding.holder,
        epoch=lease.holding.epoch,
        scope=sorted(lease.holding.reach),
        private=lease.holding.private,
        held_for=keeper.seconds_since(lease.since),
        returning=left and Returning(seconds=left[0], reason=left[1], soon=left[0] <= keeper.times.countdown),
        requests=[
            ControlRequested(
                subject=asked.actor.name,
                person=asked.actor.person,
                scope=sorted(asked.reach),
                ends_in=keeper.seconds_until(asked.until),
            )
            for asked in lease.requests
        ],
        viewers=[ControlViewer(name=each.name, role=_role(each), you=each.name == caller.name) for each in keeper.viewers],
        take=keeper.policy,
        agent_seen=keeper.agent_seen,
        paused=keeper.paused,
        receipt=keeper.receipt,
        you=_you(caller, lease),
    )


def _you(caller: Caller, lease: machine.Lease) -> You:
    return You(
        name=caller.name,
        person=caller.person,
        role=_role(caller),
        driving=lease.holding.drives(caller, "gui"),
        sees=lease.holding.sees(caller),
    )


def _role(caller: Caller) -> Role:
    if not caller.person:
        return "agent"
    return "admin" if caller.may("admin") else "control" if caller.may("control") else "view"
