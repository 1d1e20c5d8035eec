"""The sign-in link: made where the container knows its keys, and announced once."""

from dataclasses import replace
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

import pytest

from sandbox_server.boot.sign_in import announce, create
from sandbox_server.core import ALL_SCOPES
from sandbox_server.drivers.credentials.tickets import Tickets
from sandbox_server.settings import AuthSettings, GatewaySettings, Paths, Settings


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    """Settings of a container whose places are a directory of the test."""
    return replace(Settings(), paths=Paths(run=str(tmp_path), agent_run=str(tmp_path / "agent")))


def ticket_of(link: str) -> str:
    """The ticket in a link."""
    return parse_qs(urlsplit(link).query)["ticket"][0]


def test_a_link_opens_everything_once(settings: Settings, tmp_path: Path) -> None:
    tickets = Tickets(str(tmp_path / "tickets"))
    ticket = ticket_of(create(settings, ""))
    grant = tickets.redeem(ticket, "/terminal")
    assert grant is not None
    assert (grant.scopes, grant.prefix) == (ALL_SCOPES, "/")
    assert tickets.redeem(ticket, "/terminal") is None


def test_a_link_leads_where_the_person_reaches_the_gateway(settings: Settings) -> None:
    assert create(settings, "https://box.example/").startswith("https://box.example/?ticket=")
    assert create(replace(settings, gateway=GatewaySettings(port=9000)), "").startswith("http://localhost:9000/?ticket=")


def test_without_sign_in_the_link_is_the_address(settings: Settings) -> None:
    assert create(replace(settings, auth=AuthSettings(mode="off")), "") == "http://localhost:8080/"


def test_the_sign_in_link_is_printed_once_per_start(settings: Settings, capsys: pytest.CaptureFixture[str]) -> None:
    announce(settings)
    assert capsys.readouterr().out == ""
    Path(settings.paths.announcement).touch()
    announce(settings)
    announce(settings)
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == 1
    assert "http://localhost:8080/?ticket=" in lines[0]


def test_an_open_sandbox_says_so_aloud(settings: Settings, capsys: pytest.CaptureFixture[str]) -> None:
    Path(settings.paths.announcement).touch()
    announce(replace(settings, auth=AuthSettings(mode="off")))
    assert "AUTH=off: open to everyone" in capsys.readouterr().out
