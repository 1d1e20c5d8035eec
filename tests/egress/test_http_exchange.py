"""What one exchange bounds; what it carries is tested with the flow."""

import asyncio
import gzip

import pytest

from sandbox_server.drivers.egress import secret_injection
from sandbox_server.egress import http_exchange
from tests.egress.conftest import SECONDS
from tests.secret_servers import PLACEHOLDER, SecretLab, binding, plain, request, secret

pytestmark = pytest.mark.anyio
BEARER = f"Authorization: Bearer {PLACEHOLDER}"


async def test_a_body_that_is_searched_is_bounded(opened: SecretLab) -> None:
    opened.secrets(secret(binding(places=["json"])))
    body = b" " * (secret_injection.MAX_BODY + 1)
    said = await opened.ask(request("Content-Type: application/json", method="POST", body=body))
    assert b"larger than" in said
    assert opened.server.heard == []


async def test_a_compressed_answer_is_unpacked_a_part_at_a_time(opened: SecretLab) -> None:
    packed = gzip.compress(bytes(8 << 20)) + gzip.compress(b"the end")
    opened.server.respond = lambda *_: plain(packed, ("Content-Encoding", "gzip"))
    opened.secrets(secret())
    said = await opened.ask(request(BEARER))
    assert b"content-encoding" not in said.lower()
    assert len(said) > 8 << 20
    assert b"the en" in said[-200:]


async def test_an_answer_that_is_not_compressed_as_it_says_ends(opened: SecretLab) -> None:
    opened.server.respond = lambda *_: plain(b"no gzip", ("Content-Encoding", "gzip"))
    opened.secrets(secret())
    assert b"no gzip" not in await opened.ask(request(BEARER))


async def test_a_client_that_waits_to_be_told_to_go_on_is_told(opened: SecretLab) -> None:
    opened.secrets(secret(binding(places=["json"])))
    body = f'{{"k": "{PLACEHOLDER}"}}'.encode()
    head = request("Content-Type: application/json", "Expect: 100-continue", method="POST", body=body)[: -len(body)]
    async with asyncio.timeout(SECONDS):
        reader, writer = await opened.open()
        writer.write(head)
        assert b"100" in await reader.readuntil(b"\r\n\r\n")
        writer.write(body)
        assert b" 200 " in await reader.readuntil(b"\r\n\r\n")
        writer.close()
    assert "expect" not in opened.server.fields()


async def test_a_client_that_pauses_within_a_body_is_cut(opened: SecretLab, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(http_exchange, "BODY_SECONDS", 0.2)
    opened.secrets(secret())
    async with asyncio.timeout(SECONDS):
        reader, writer = await opened.open()
        writer.write(request(BEARER, method="POST", body=b"x" * 10)[:-5])
        assert b"502" in await reader.read()
        writer.close()


async def test_a_body_that_is_searched_has_a_bound_in_time_however_steadily_it_comes(
    opened: SecretLab, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(http_exchange, "WHOLE_BODY_SECONDS", 0.3)
    opened.secrets(secret(binding(places=["json"])))
    body = b" " * 1_000_000
    async with asyncio.timeout(SECONDS):
        reader, writer = await opened.open()
        writer.write(request("Content-Type: application/json", method="POST", body=body)[: -len(body)])
        heard = asyncio.ensure_future(reader.read(-1))
        while not heard.done():
            writer.write(b" ")
            await asyncio.wait([heard], timeout=0.01)
        assert b"took too long to come" in await heard
        writer.close()
    assert opened.server.heard == []


async def test_a_pause_within_a_body_that_is_searched_is_answered(opened: SecretLab, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(http_exchange, "BODY_SECONDS", 0.2)
    opened.secrets(secret(binding(places=["json"])))
    body = b'{"k": "x"}'
    async with asyncio.timeout(SECONDS):
        reader, writer = await opened.open()
        writer.write(request("Content-Type: application/json", method="POST", body=body)[:-5])
        assert b"502" in await reader.read()
        writer.close()
    assert opened.server.heard == []
