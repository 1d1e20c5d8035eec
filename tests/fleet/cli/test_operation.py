"""Commands of who operates a fleet."""

import asyncio
import signal
import stat

import pytest
from tandem_fleet.errors import InvalidError, SandboxFailedError
from tandem_fleet.gateway.settings import GatewaySettings
from tandem_fleet.settings import Settings

from tests.fleet.cli.running import run
from tests.fleet.engines import MemoryBackend
from tests.waiting import eventually

pytestmark = pytest.mark.anyio


async def test_the_doctor_exits_with_1_where_something_is_missing(
    settings: Settings, engine: MemoryBackend, capsys: pytest.CaptureFixture[str]
) -> None:
    assert await run(settings, "doctor") == 0
    engine.refuses.add("create")
    with pytest.raises(SandboxFailedError):
        await run(settings, "up", "work")
    capsys.readouterr()
    assert await run(settings, "doctor") == 1
    assert "LOST  sandboxes: failed: work  (tandem ps says why; tandem start work tries again)" in capsys.readouterr().out


async def test_serve_says_where_and_ends_with_its_signal(settings: Settings, capsys: pytest.CaptureFixture[str]) -> None:
    serving = asyncio.create_task(run(settings, "serve", "--port", "0"))
    await eventually(settings.socket.exists)
    assert await run(settings, "up", "work") == 0
    key = settings.state / "key"
    assert stat.S_IMODE(key.stat().st_mode) == 0o600
    assert len(key.read_text()) == 43
    signal.raise_signal(signal.SIGTERM)
    async with asyncio.timeout(60):
        assert await serving == 0
    assert "sandboxes go on" in capsys.readouterr().err


async def test_serve_says_where_sandboxes_are_and_what_a_gateway_lacks(
    settings: Settings, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(InvalidError, match="listens on ADDRESS:PORT"):
        await run(settings, "serve", "--port", "0", "--gateway", "localhost")
    monkeypatch.setenv("TANDEM_GATEWAY_CADDY", "/nowhere/caddy")
    with pytest.raises(InvalidError, match=r"tandem-fleet\[gateway\]"):
        await run(settings, "serve", "--port", "0", "--gateway", "127.0.0.1:0")
    monkeypatch.delenv("TANDEM_GATEWAY_CADDY")
    try:
        GatewaySettings.of({}, "127.0.0.1:0").program()
    except InvalidError as error:
        pytest.skip(str(error))
    serving = asyncio.create_task(run(settings, "serve", "--port", "0", "--gateway", "127.0.0.1:0"))
    said = ""
    while "its sandboxes are at http://127.0.0.1:" not in said:
        assert not serving.done()
        await asyncio.sleep(0.01)
        said += capsys.readouterr().err
    signal.raise_signal(signal.SIGTERM)
    async with asyncio.timeout(60):
        assert await serving == 0
