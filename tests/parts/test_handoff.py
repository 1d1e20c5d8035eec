"""What an agent asks of people."""

import time
from dataclasses import replace
from pathlib import Path

from sandbox_server.drivers.credentials.keyring import Keyring
from sandbox_server.drivers.credentials.tickets import Tickets
from sandbox_server.features.handoff.notices import Notices
from sandbox_server.features.handoff.wire import Handoff
from sandbox_server.parts import handoff
from sandbox_server.parts.shared import Shared
from sandbox_server.settings import load

OPEN = Handoff(
    id="h-1",
    kind="free",
    reason="r",
    instructions="",
    url=None,
    region=None,
    choices=[],
    on_timeout="give_up",
    asked_by="agent",
    created_at=0,
    deadline_at=time.time() + 60,
    status="open",
)


def test_a_webhook_is_told_where_there_is_one() -> None:
    assert not any(isinstance(each, Notices) for each in handoff.part(Shared(load({}))).opened)
    part = handoff.part(Shared(load({"HANDOFF_WEBHOOK_URL": "https://hook.example"})))
    assert any(isinstance(each, Notices) for each in part.opened)


def test_the_link_lets_somebody_see_and_control_once(tmp_path: Path) -> None:
    settings = load({"HANDOFF_LINK_URL": "https://here.example/"})
    settings = replace(settings, paths=replace(settings.paths, run=str(tmp_path), agent_run=str(tmp_path)))
    link = handoff.link_of(settings)(OPEN)
    assert link
    address, _, ticket = link.partition("?ticket=")
    assert address == "https://here.example/view"
    tickets = Tickets(Keyring(str(tmp_path), str(tmp_path)).tickets)
    grant = tickets.redeem(ticket, "/view")
    assert grant
    assert grant.scopes == {"view", "control"}
    assert tickets.redeem(ticket, "/view") is None


def test_without_an_address_there_is_no_link() -> None:
    assert handoff.link_of(load({}))(OPEN) is None
