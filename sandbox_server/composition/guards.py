"""The guards that every call passes, in their order. `docs/architecture.md` shows the same list."""

from collections.abc import Iterable

from sandbox_server.composition.first import First
from sandbox_server.core.dispatch import Guard, require_decider, require_scope, require_tool
from sandbox_server.features.browser.desktop_guard import DesktopGuard
from sandbox_server.features.browser.lane_guard import only_main
from sandbox_server.features.profiles.guard import ProfileGuard
from sandbox_server.features.snapshots.guard import SnapshotGuard


def guards_of(first: First, browser_hints: Guard | None = None, egress_hints: Guard | None = None) -> tuple[Guard, ...]:
    """The guards, the outermost first. Those of hints are None until their parts are made: no first call needs them."""
    profiles = ProfileGuard(first.machine.owner.profile)
    first.machine.owner.follow_profile(profiles.interrupt)
    return (
        first.gateway.audit,  # counts and logs every call, so it comes before everything that may refuse one
        first.recorder.guard,  # records refused calls too
        SnapshotGuard(first.machine.snapshot),  # before anything is decided by what another computer has as well
        first.gateway.session_guard,  # an ended session has no rights to check
        require_scope,  # before anything that a caller without the scope could learn from
        require_decider,  # what the scope allows to people alone
        require_tool,  # narrows what the scope allows
        only_main,  # before a person is asked about a call that would act on other pages than meant
        DesktopGuard(first.machine.settings.components),  # what can never run here asks no person
        first.approvals.guard,  # a call that waits for a person must hold neither the lease nor the box
        first.control.guard,  # a call that may not act now must neither resume the box nor make a checkpoint
        profiles.guard,  # before what it would show or act on, and after: the profile may change
        first.control.visibility,  # after the lease: a call that waits for control shows nothing yet
        first.work.suspension.guard,  # resumes the box only for calls that were let in
        first.work.checkpoints.guard,  # a checkpoint needs a box that runs
        *((egress_hints,) if egress_hints else ()),  # after everything that refuses a call: only one that ran has hints
        *((browser_hints,) if browser_hints else ()),  # innermost: hints are collected only while a call runs
    )


def names_of(guards: Iterable[Guard]) -> list[str]:
    """Return each guard's name: its class, the class of its method, or its function."""
    return [_name(guard) for guard in guards]


def _name(guard: Guard) -> str:
    owner = getattr(guard, "__self__", None)
    qualified: str = getattr(guard, "__qualname__", type(guard).__name__) if owner is None else type(owner).__name__
    return qualified.partition(".")[0]
