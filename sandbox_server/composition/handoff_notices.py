"""The handoffs' operations, and notifications of people."""

from collections.abc import Iterator

from sandbox_server.composition.control import ControlParts
from sandbox_server.composition.handoff import HandoffParts
from sandbox_server.composition.live_events import Follow, LiveEvents
from sandbox_server.composition.part import ProductPart
from sandbox_server.core.identity import Caller
from sandbox_server.drivers.clients.mail import MailServer
from sandbox_server.features.control.lease_keeper import LeaseKeeper
from sandbox_server.features.handoff.handoffs import Claimed, Drop, Handoffs
from sandbox_server.features.handoff.notification_targets import (
    MailTarget,
    NotificationTarget,
    NtfyTarget,
    SlackTarget,
    TelegramTarget,
    WebhookTarget,
)
from sandbox_server.features.handoff.notifier import HandoffNotifier
from sandbox_server.features.handoff.queue import HandoffQueue
from sandbox_server.features.ports.port_events import PortEvents
from sandbox_server.settings import Settings
from sandbox_server.settings.handoff import HandoffSettings


def build_handoffs(
    settings: Settings, handoffs: HandoffParts, control: ControlParts, drop: Drop, ports: PortEvents, *more: Follow
) -> ProductPart:
    """Make the operations and the notifier. `drop` fills a secret into a page; pages follow `ports` and `more`, too."""
    claimed = private_by(handoffs.queue, control.keeper, wanted=settings.control.private_handoff)
    notices = HandoffNotifier(handoffs.queue, targets_of(settings.handoff), handoffs.links.make)
    asked = Handoffs(handoffs.queue, claimed, drop)
    return ProductPart((asked, LiveEvents(control.lease.control_events, asked.handoff_events, ports.follow, *more)), (notices,))


def targets_of(handoff: HandoffSettings) -> Iterator[NotificationTarget]:
    """Yield the notification targets in the settings."""
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


def private_by(queue: HandoffQueue, keeper: LeaseKeeper, *, wanted: bool) -> Claimed:
    """Return a function that starts private mode when the person who has control claims a handoff of a private kind."""

    async def claimed(caller: Caller) -> None:
        if wanted and keeper.holding.is_holder(caller) and queue.asks_privacy(caller.name):
            await keeper.hide("handoff")

    return claimed
