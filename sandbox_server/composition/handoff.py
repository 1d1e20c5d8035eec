"""Handoffs: the queue of agents' requests to people, and their sign-in links."""

from dataclasses import dataclass

from sandbox_server.composition.late import Late
from sandbox_server.composition.machine import MachineParts
from sandbox_server.composition.part import ProductPart
from sandbox_server.composition.recorder import FlightRecorder
from sandbox_server.core.receipt import Receipt
from sandbox_server.drivers.credentials.keyring import Keyring
from sandbox_server.drivers.credentials.revoked import Revoked
from sandbox_server.drivers.credentials.tickets import Tickets
from sandbox_server.features.control.lease_keeper import LeaseKeeper
from sandbox_server.features.handoff.approvals import HandoffApprovals
from sandbox_server.features.handoff.handoff import Handoff as Asked
from sandbox_server.features.handoff.queue import HandoffQueue, Receipted
from sandbox_server.features.handoff.sign_in_links import Expel, HandoffLinks
from sandbox_server.features.handoff.store import HandoffStore
from sandbox_server.features.recorder.recorded_events import HandoffEntries


@dataclass(frozen=True, slots=True)
class HandoffParts:
    """The queue of handoffs, the approvals that it asks people for, and their sign-in links."""

    queue: HandoffQueue
    approvals: HandoffApprovals
    links: HandoffLinks
    part: ProductPart


def build_handoff_queue(
    machine: MachineParts, keeper: LeaseKeeper, recorder: FlightRecorder, receipts: Late[Receipted | None]
) -> HandoffParts:
    """Make the handoff queue, which the gateway asks about links from the first call on. `receipts` returns what people changed."""
    settings, handoff = machine.settings, machine.settings.handoff
    tickets = Tickets(Keyring(settings.paths.run, settings.paths.agent_run).tickets)
    links = HandoffLinks(tickets, handoff.link, expelled_by(machine.revoked, keeper))
    entries = HandoffEntries(recorder.journal, recorder.redaction)

    def kept(asked: Asked) -> None:
        if asked.private is None:
            entries.kept(asked)
        links.kept(asked)

    async def receipted(person: str, since: float, until: float) -> Receipt | None:
        receipt = await receipts.wait()
        return await receipt(person, since, until) if receipt else None

    store = HandoffStore(handoff.file or f"{settings.paths.run}/handoffs.db")
    queue = HandoffQueue(store, receipted=receipted, kept=kept)
    if settings.control.private_handoff:
        keeper.hide_when(queue.asks_privacy)
    approvals = HandoffApprovals(queue, settings.approvals.answer_within(notifies=handoff.notifies))
    return HandoffParts(queue, approvals, links, ProductPart((), (store, links, queue, approvals)))


def expelled_by(revoked: Revoked, keeper: LeaseKeeper) -> Expel:
    """Return a function that closes the connections of names with a prefix, once their sessions are revoked."""

    async def expel(prefix: str) -> None:
        revoked.disconnect(prefix)
        holder = keeper.holding.holder
        if holder is not None and holder.startswith(prefix):
            await keeper.expel(holder)

    return expel
