"""What answers the first calls, and every guard that may refuse one."""

from dataclasses import dataclass

from sandbox_server.composition.approvals import ApprovalParts, build_approvals
from sandbox_server.composition.control import ControlParts, build_control
from sandbox_server.composition.gateway import GatewayParts, build_gateway
from sandbox_server.composition.handoff import HandoffParts, build_handoff_queue
from sandbox_server.composition.late import Late
from sandbox_server.composition.machine import MachineParts, build_machine
from sandbox_server.composition.part import ProductPart
from sandbox_server.composition.recorder import FlightRecorder, build_recorder
from sandbox_server.composition.work import Work, build_work
from sandbox_server.drivers.box.program_pause import ProgramPause
from sandbox_server.drivers.storage.json_file import JsonFile
from sandbox_server.features.handoff.queue import Receipted
from sandbox_server.settings import Settings


@dataclass(frozen=True, slots=True)
class First:
    """The builders' results. `receipts` is set once the rest is made."""

    machine: MachineParts
    recorder: FlightRecorder
    control: ControlParts
    handoffs: HandoffParts
    approvals: ApprovalParts
    gateway: GatewayParts
    work: Work
    receipts: Late[Receipted | None]

    @property
    def parts(self) -> tuple[ProductPart, ...]:
        """In the order in which they are opened."""
        return self.recorder.part, self.control.part, self.gateway.part, self.work.part, self.handoffs.part, self.approvals.part


def build_first(settings: Settings, *, new: bool = False) -> First:
    """Make them. `new`: this is the first server process since the container started.

    The recorder needs the lease to know about private mode, and the lease reports input to the recorder. So one of them
    gets the other by a handle.
    """
    machine, control = build_machine(settings), Late[ControlParts]("the control lease")
    receipts = Late[Receipted | None]("what tells of a person's changes")
    recorder = build_recorder(settings, lambda: control.get().private)
    owner = machine.owner if machine.has_browser else None
    control.set(build_control(JsonFile(settings.paths.control), settings.control, owner, recorder, ProgramPause(machine.box)))
    keeper = control.get().keeper
    handoffs = build_handoff_queue(machine, keeper, recorder, receipts)
    work = build_work(machine, control.get(), recorder, new=new)
    work.activity.follow_handoffs(lambda: bool(handoffs.queue.listed("open")))
    return First(
        machine=machine,
        recorder=recorder,
        control=control.get(),
        handoffs=handoffs,
        approvals=build_approvals(settings, handoffs, keeper),
        gateway=build_gateway(machine, keeper, handoffs.queue.is_open),
        work=work,
        receipts=receipts,
    )
