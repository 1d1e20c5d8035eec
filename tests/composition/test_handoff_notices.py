"""Who is told of a handoff."""

from sandbox_server.composition.agent_tools import build_ports
from sandbox_server.composition.handoff_notices import build_handoffs, targets_of
from sandbox_server.features.handoff.notifier import HandoffNotifier
from sandbox_server.features.ports.port_events import PortEvents
from sandbox_server.settings import load
from tests.composition.made import first

EVERYWHERE = {
    "HANDOFF_WEBHOOK_URL": "https://hook.example",
    "HANDOFF_WEBHOOK_SECRET": "s",
    "HANDOFF_SLACK_URL": "https://slack.example",
    "HANDOFF_TELEGRAM_TOKEN": "1:a",
    "HANDOFF_TELEGRAM_CHAT": "7",
    "HANDOFF_NTFY_URL": "https://ntfy.example/topic",
    "HANDOFF_SMTP_URL": "smtps://me:pass@mail.example",
    "HANDOFF_MAIL_FROM": "a@example.com",
    "HANDOFF_MAIL_TO": "b@example.com",
}


def test_everybody_is_told_that_the_settings_name() -> None:
    targets = list(targets_of(load(EVERYWHERE).handoff))

    assert list(targets_of(load({}).handoff)) == []
    assert [target.name for target in targets] == ["webhook", "slack", "telegram", "ntfy", "mail"]
    assert targets[4].secrets == ("pass",)


def test_notices_are_opened_beside_the_operations() -> None:
    made = first(**EVERYWHERE)
    ports = PortEvents(build_ports(made.machine), made.machine.ports)
    part = build_handoffs(made.machine.settings, made.handoffs, made.control, made.machine.owner.drop, ports)

    assert [feature.tag for feature in part.features] == ["handoffs", "control"]
    assert [type(each) for each in part.opened] == [HandoffNotifier]
