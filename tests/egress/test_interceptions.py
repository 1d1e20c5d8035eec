import asyncio
import ssl

import pytest

from sandbox_server.egress import egress_flow, interceptions
from sandbox_server.egress.refusals import ACCESS_DENIED
from tests.client_hellos import real
from tests.secret_servers import HOST, PLACEHOLDER, VALUE, SecretLab, request, secret

pytestmark = pytest.mark.anyio


async def test_so_many_connections_are_opened_at_once(opened: SecretLab, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(interceptions, "MAX_INTERCEPTED", 0)
    opened.secrets(secret())
    assert await opened.lab.said(HOST, opened.server.port, real(HOST)) == ACCESS_DENIED
    assert (await opened.lab.event("refused"))["rule"] == "limit"


async def test_a_host_that_the_policy_denies_is_not_opened(opened: SecretLab) -> None:
    opened.secrets(secret())
    opened.lab.rules()
    assert await opened.lab.said(HOST, opened.server.port, real(HOST)) == ACCESS_DENIED
    assert opened.server.connections == 0


async def test_a_connection_is_listed_from_its_first_request_to_its_end(opened: SecretLab) -> None:
    opened.secrets(secret())
    await opened.ask(request(f"Authorization: {PLACEHOLDER}"))
    begun, ended = await opened.lab.event("open"), await opened.lab.event("close")
    assert begun["id"] == ended["id"]
    assert ended["protocol"] == "tls"
    assert isinstance(ended["sent"], int)
    assert ended["sent"] > 50
    assert opened.lab.server.flows.open == {}


async def test_a_program_that_takes_its_time_is_opened_all_the_same(opened: SecretLab, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(egress_flow, "SPEAKS_FIRST_SECONDS", 0.0)
    opened.secrets(secret())
    opened.lab.rules(opened.lab.allow(HOST, protocols=["tls", "tcp"]))
    reader, writer = await opened.lab.connect(HOST, opened.server.port)
    await asyncio.sleep(0.05)
    async with asyncio.timeout(20):
        await writer.start_tls(opened.program, server_hostname=HOST)
        writer.write(request(f"Authorization: {PLACEHOLDER}"))
        await reader.read(-1)
        writer.close()
    assert opened.server.fields()["authorization"] == VALUE


async def test_a_program_that_says_nothing_for_long_is_not_opened_later(opened: SecretLab, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(egress_flow, "SILENT_SECONDS", 0.0)
    opened.secrets(secret())
    opened.lab.rules(opened.lab.allow(HOST, protocols=["tls", "tcp"]))
    _, writer = await opened.lab.connect(HOST, opened.server.port)
    await opened.lab.event("open")
    with pytest.raises((ssl.SSLError, ConnectionError)):
        await writer.start_tls(opened.program, server_hostname=HOST)
    assert (await opened.lab.event("refused"))["rule"] == "late"
