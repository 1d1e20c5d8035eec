"""What an agent asks of people: the desk, and who is told."""

import secrets
import time

from sandbox_server.core import Caller
from sandbox_server.drivers.credentials.grants import Grant
from sandbox_server.drivers.credentials.keyring import Keyring
from sandbox_server.drivers.credentials.tickets import Tickets
from sandbox_server.features.handoff.desk import Desk
from sandbox_server.features.handoff.feature import Claimed, Handoffs
from sandbox_server.features.handoff.notices import Link, Notices
from sandbox_server.features.handoff.store import HandoffStore
from sandbox_server.features.handoff.wire import Handoff
from sandbox_server.features.recorder.entries import HandoffEntries
from sandbox_server.parts.shared import Part, Shared
from sandbox_server.settings import Settings

LINK_SCOPES = frozenset({"view", "control"})


def part(shared: Shared) -> Part:
    """Handoffs, kept in a file, told to a webhook where there is one."""
    settings, handoff = shared.settings, shared.settings.handoff
    store = HandoffStore(handoff.file or f"{settings.paths.run}/handoffs.db")
    desk = Desk(store)
    handoffs = Handoffs(desk, private_by(shared, desk))
    desk.kept = HandoffEntries(shared.journal).kept
    if not handoff.webhook:
        return Part((handoffs,), (store, desk))
    secret = handoff.secret.reveal() if handoff.secret else None
    return Part((handoffs,), (store, Notices(desk, handoff.webhook, secret, link_of(settings)), desk))


def private_by(shared: Shared, desk: Desk) -> Claimed:
    """What hides what a person does who does what is asked, from when that person both has control and has taken it on."""
    driving, wanted = shared.control.driving, shared.settings.control.private_handoff

    async def claimed(caller: Caller) -> None:
        if wanted and driving.holding.is_holder(caller) and desk.asks_privacy(caller.name):
            await driving.hide("handoff")

    if wanted:
        driving.reasons.append(desk.asks_privacy)
    return claimed


def link_of(settings: Settings) -> Link:
    """What makes a link that works once, until the request's deadline, to see and to control."""
    tickets = Tickets(Keyring(settings.paths.run, settings.paths.agent_run).tickets)
    base = settings.handoff.link

    def link(handoff: Handoff) -> str | None:
        if base is None:
            return None
        grant = Grant(f"invited#{secrets.token_hex(3)}", LINK_SCOPES)
        return f"{base.rstrip('/')}/view?ticket={tickets.create(grant, max(1.0, handoff.deadline_at - time.time()))}"

    return link
