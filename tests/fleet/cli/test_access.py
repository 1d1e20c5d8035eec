"""Commands that get into a sandbox."""

from dataclasses import replace

import httpx2
import pytest
from tandem_fleet.api import service
from tandem_fleet.cli import access
from tandem_fleet.errors import FleetError, SandboxFailedError
from tandem_fleet.settings import Settings

from tests.fleet.cli.running import run

pytestmark = pytest.mark.anyio


async def test_what_does_not_run_is_neither_opened_nor_run_in(settings: Settings) -> None:
    await run(settings, "up", "work")
    await run(settings, "pause", "work")
    for words in (("exec", "work", "--", "true"), ("open", "--print", "work")):
        with pytest.raises(SandboxFailedError, match="work is paused: tandem resume work"):
            await run(settings, *words)


async def test_a_sandbox_that_gives_no_ticket_is_not_opened(settings: Settings) -> None:
    await run(settings, "up", "work")
    with pytest.raises((FleetError, ValueError)):  # the gateway of these tests answers with nothing
        await run(settings, "open", "--print", "work")


async def test_a_sandbox_that_does_not_answer_is_said(settings: Settings, monkeypatch: pytest.MonkeyPatch) -> None:
    await run(settings, "up", "work")
    made = {"url": "http://127.0.0.1:9", "address": "", "state": "paused", "token": "x"}

    async def answered(*_: object, **__: object) -> dict[str, str]:
        return made

    monkeypatch.setattr(access, "_token", answered)
    with pytest.raises(SandboxFailedError, match=r"127\.0\.0\.1:9 does not answer"):
        await run(settings, "open", "--print", "work")


async def test_a_token_is_printed_alone(settings: Settings, capsys: pytest.CaptureFixture[str]) -> None:
    await run(settings, "up", "work")
    capsys.readouterr()
    assert await run(settings, "token", "work", "--scope", "shell") == 0
    assert capsys.readouterr().out.strip().count(".") == 2


async def test_logs_are_printed(settings: Settings, capsys: pytest.CaptureFixture[str]) -> None:
    await run(settings, "up", "work")
    capsys.readouterr()
    assert await run(settings, "logs", "work") == 0
    assert capsys.readouterr().out == "a line\n"


async def test_without_a_name_a_link_opens_the_page_with_all_of_them(settings: Settings, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(FleetError, match="tandem serve"):
        await run(settings, "open", "--print")
    async with service.serving(settings, host="127.0.0.1", port=0, key="key") as served:
        assert await run(settings, "open", "--print", "--as", "ann") == 0
        assert await run(replace(settings, url=f"http://127.0.0.1:{served.port}", key="key"), "open", "--print") == 0
        for link in capsys.readouterr().out.split():
            async with httpx2.AsyncClient(trust_env=False) as http:
                answer = await http.get(link.replace("localhost", "127.0.0.1"))
                assert (answer.status_code, "set-cookie" in answer.headers) == (303, True)
