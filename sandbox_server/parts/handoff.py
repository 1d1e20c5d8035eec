"""What an agent asks of people: the queue, and who is told."""

from collections.abc import Iterator

from sandbox_server.core import Caller
from sandbox_server.drivers.clients.mail import MailServer
from sandbox_server.drivers.credentials.keyring import Keyring
from sandbox_server.drivers.credentials.tickets import Tickets
from sandbox_server.features.handoff.handoff import Handoff as Asked
from sandbox_server.features.handoff.handoffs import Claimed, Handoffs
from sandbox_server.features.handoff.links import Expel, HandoffLinks
from sandbox_server.features.handoff.notifier import HandoffNotifier
from sandbox_server.features.handoff.queue import HandoffQueue
from sandbox_server.features.handoff.store import HandoffStore
from sandbox_server.features.handoff.targets import MailTarget, NotificationTarget, NtfyTarget, SlackTarget, TelegramTarget, WebhookTarget
from sandbox_server.features.recorder.entries import HandoffEntries
from sandbox_server.parts.shared import Part, Shared
from sandbox_server.settings.handoff import Handoff


def part(shared: Shared) -> Part:
    """Handoffs, kept in a file, told wherever that is set."""
    settings, handoff = shared.settings, shared.settings.handoff
    store = HandoffStore(handoff.file or f"{settings.paths.run}/handoffs.db")
    queue = HandoffQueue(store)
    handoffs = Handoffs(queue, private_by(shared, queue), shared.owner.drop)
    if shared.receipts:
        queue.receipted = shared.receipts
    tickets = Tickets(Keyring(settings.paths.run, settings.paths.agent_run).tickets)
    links, entries = HandoffLinks(tickets, handoff.link, expelled_by(shared)), HandoffEntries(shared.journal)

    def kept(asked: Asked) -> None:
        entries.kept(asked)
        links.kept(asked)

    queue.kept, shared.is_asked = kept, queue.is_open
    return Part((handoffs,), (store, links, HandoffNotifier(queue, targets_of(handoff), links.make), queue))


def targets_of(handoff: Handoff) -> Iterator[NotificationTarget]:
    """Whoever is to be told, as the settings say; several at once if they say so."""
    if handoff.webhook:
        yield WebhookTarget(handoff.webhook, handoff.secret.reveal() if handoff.secret else None)
    if handoff.slack:
        yield SlackTarget(handoff.slack.reveal())
    if handoff.telegram and handoff.telegram_chat:
        yield TelegramTarget(handoff.telegram_url, handoff.telegram.reveal(), handoff.telegram_chat)
    if handoff.ntfy:
        yield NtfyTarget(handoff.ntfy.reveal(), handoff.ntfy_token.reveal() if handoff.ntfy_token else None)
    if handoff.smtp and handoff.mail_from:
        yield MailTarget(MailServer.at(handoff.smtp.reveal()), handoff.mail_from, handoff.mail_to)


def private_by(shared: Shared, queue: HandoffQueue) -> Claimed:
    """What hides what a person does who does what is asked, from when that person both has control and has taken it on."""
    driving, wanted = shared.control.driving, shared.settings.control.private_handoff

    async def claimed(caller: Caller) -> None:
        if wanted and driving.holding.is_holder(caller) and queue.asks_privacy(caller.name):
            await driving.hide("handoff")

    if wanted:
        driving.reasons.append(queue.asks_privacy)
    return claimed


def expelled_by(shared: Shared) -> Expel:
    """What ends what those have open whose names begin in one way, once their sessions are void."""

    async def expel(prefix: str) -> None:
        shared.revoked.disconnect(prefix)
        holder = shared.control.driving.holding.holder
        if holder is not None and holder.startswith(prefix):
            await shared.control.driving.expel(holder)

    return expel
