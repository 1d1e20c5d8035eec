"""Commands of webhooks."""

import json
from dataclasses import replace

import pytest
from tandem_fleet.outbound import read_networks
from tandem_fleet.settings import Settings

from tests.fleet.cli.running import run

pytestmark = pytest.mark.anyio


async def test_one_is_added_listed_and_removed(settings: Settings, capsys: pytest.CaptureFixture[str]) -> None:
    here = replace(settings, webhook_networks=read_networks("127.0.0.0/8"))
    assert await run(here, "webhook", "add", "http://127.0.0.1:9/", "--type", "sandbox.ready") == 0
    number, secret = capsys.readouterr().out.split()
    assert secret.startswith("whsec_")
    await run(here, "webhook", "ls")
    assert json.loads(capsys.readouterr().out)["types"] == ["sandbox.ready"]
    assert await run(here, "webhook", "enable", number) == 0
    assert await run(here, "webhook", "rm", number) == 0
    await run(here, "webhook", "ls")
    assert capsys.readouterr().out == ""
