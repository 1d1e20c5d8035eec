"""What an agent asks of people: the desk, and who is told."""

import secrets
import time
from collections.abc import Iterator

from sandbox_server.core import Caller
from sandbox_server.drivers.credentials.grants import Grant
from sandbox_server.drivers.credentials.keyring import Keyring
from sandbox_server.drivers.credentials.tickets import Tickets
from sandbox_server.drivers.mail import MailServer
from sandbox_server.features.handoff.desk import Desk
from sandbox_server.features.handoff.feature import Claimed, Handoffs
from sandbox_server.features.handoff.notices import Link, Notices
from sandbox_server.features.handoff.store import HandoffStore
from sandbox_server.features.handoff.targets import Mail, Ntfy, Slack, Target, Telegram, Webhook
from sandbox_server.features.handoff.wire import Handoff as Asked
from sandbox_server.features.recorder.entries import HandoffEntries
from sandbox_server.handoff_settings import Handoff
from sandbox_server.parts.shared import Part, Shared
from sandbox_server.settings import Settings

LINK_SCOPES = frozenset({"view", "control"})


def part(shared: Shared) -> Part:
    """Handoffs, kept in a file, told wherever that is set."""
    settings, handoff = shared.settings, shared.settings.handoff
    store = HandoffStore(handoff.file or f"{settings.paths.run}/handoffs.db")
    desk = Desk(store)
    handoffs = Handoffs(desk, private_by(shared, desk), shared.owner.drop)
    if shared.receipts:
        desk.receipted = shared.receipts
    desk.kept = HandoffEntries(shared.journal).kept
    return Part((handoffs,), (store, Notices(desk, targets_of(handoff), link_of(settings)), desk))


def targets_of(handoff: Handoff) -> Iterator[Target]:
    """Whoever is to be told, as the settings say; several at once if they say so."""
    if handoff.webhook:
        yield Webhook(handoff.webhook, handoff.secret.reveal() if handoff.secret else None)
    if handoff.slack:
        yield Slack(handoff.slack.reveal())
    if handoff.telegram and handoff.telegram_chat:
        yield Telegram(handoff.telegram_url, handoff.telegram.reveal(), handoff.telegram_chat)
    if handoff.ntfy:
        yield Ntfy(handoff.ntfy.reveal(), handoff.ntfy_token.reveal() if handoff.ntfy_token else None)
    if handoff.smtp and handoff.mail_from:
        yield Mail(MailServer.at(handoff.smtp.reveal()), handoff.mail_from, handoff.mail_to)


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

    def link(handoff: Asked) -> str | None:
        if base is None:
            return None
        grant = Grant(f"invited#{secrets.token_hex(3)}", LINK_SCOPES)
        return f"{base.rstrip('/')}/view?ticket={tickets.create(grant, max(1.0, handoff.deadline_at - time.time()))}"

    return link
