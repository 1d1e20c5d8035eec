"""Who is recognised when boot prepared less than usual."""

from collections.abc import Callable
from pathlib import Path

import pytest

from sandbox_server.core import ALL_SCOPES, Unauthenticated
from sandbox_server.drivers.credentials.agent_keys import AgentKeys
from sandbox_server.drivers.credentials.grants import Grant, Seal
from sandbox_server.drivers.credentials.keyring import Keyring
from sandbox_server.drivers.credentials.revoked import Revoked
from sandbox_server.drivers.credentials.shares import PortShares
from sandbox_server.drivers.credentials.tickets import Tickets
from sandbox_server.drivers.credentials.tokens import Tokens
from sandbox_server.drivers.storage.json_file import JsonFile
from sandbox_server.features.auth.credentials import Credentials, Identity
from sandbox_server.features.auth.original import Original
from tests.features.auth.conftest import Gate

pytestmark = pytest.mark.anyio


def none_revoked(folder: Path) -> Revoked:
    return Revoked(JsonFile(str(folder / "revoked.json")), 60)


def no_keys(folder: Path) -> AgentKeys:
    return AgentKeys(JsonFile(str(folder / "agent-keys.json")))


def no_shares(folder: Path) -> PortShares:
    return PortShares(JsonFile(str(folder / "shares.json")))


@pytest.fixture
def unprepared(tmp_path: Path) -> Credentials:
    """No key configured, and none made."""
    keyring = Keyring(str(tmp_path / "run"), str(tmp_path / "agent"))
    return Credentials(
        keyring,
        Tokens([], None, None),
        Tickets(keyring.tickets),
        no_shares(tmp_path),
        none_revoked(tmp_path),
        no_keys(tmp_path),
        api_key=None,
        session_ttl=60,
        now=lambda: 1000.0,
    )


def original(**headers: str) -> Original:
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    return Original.of({"x-original-uri": "/v1/x?api_key=", "x-original-path": "/v1/x", **named})


async def test_without_any_key_an_empty_one_does_not_open(unprepared: Credentials) -> None:
    for headers in ({}, {"x_aio_api_key": ""}, {"authorization": "Bearer "}):
        with pytest.raises(Unauthenticated):
            await unprepared.identify(original(**headers))


async def test_without_a_sessions_key_nobody_can_make_a_session(unprepared: Credentials) -> None:
    forged = Seal(b"").seal(Grant("key", ALL_SCOPES))
    with pytest.raises(Unauthenticated):
        await unprepared.identify(original(cookie=f"sandbox_session={forged}"))


async def test_without_a_sessions_key_sessions_last_as_long_as_the_process(unprepared: Credentials) -> None:
    grant, sealed = unprepared.session_of(Identity(Grant("key", ALL_SCOPES), "ticket"))
    assert grant.expires == 1060.0
    assert (await unprepared.identify(original(cookie=f"sandbox_session={sealed}"))).grant == grant


async def test_a_key_that_boot_makes_later_is_not_needed_before_the_first_request(tmp_path: Path) -> None:
    (tmp_path / "run").mkdir()
    keyring = Keyring(str(tmp_path / "run"), str(tmp_path / "agent"))
    late = Credentials(
        keyring,
        Tokens([], None, None),
        Tickets(keyring.tickets),
        no_shares(tmp_path),
        none_revoked(tmp_path),
        no_keys(tmp_path),
        api_key=None,
        session_ttl=60,
    )
    (tmp_path / "run/api-key").write_text("made-by-boot\n")
    assert (await late.identify(original(x_aio_api_key="made-by-boot"))).grant.caller == "key"


async def test_a_token_that_names_its_task_is_told_of(gate: Gate, signed: Callable[..., str]) -> None:
    told: list[tuple[str, str, float | None]] = []
    gate.auth._credentials._task_called = lambda *call: told.append(call)
    for claims in ({"task": "t1", "exp": 4e9}, {"task": ""}, {}):
        await gate.ask("/mcp", authorization=f"Bearer {signed(sub='agent-7', **claims)}")
    assert told == [(told[0][0], "t1", 4e9)]
    assert "agent-7" in told[0][0]
