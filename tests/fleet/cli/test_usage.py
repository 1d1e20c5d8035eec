"""Commands on what tenants may have and use."""

import json

import pytest
from tandem_fleet.cli.connection import Refused
from tandem_fleet.settings import Settings

from tests.fleet.cli.running import run

pytestmark = pytest.mark.anyio


async def test_limits_are_set_kept_and_taken_away(settings: Settings, capsys: pytest.CaptureFixture[str]) -> None:
    await run(settings, "quota", "default", "--sandboxes", "1", "--memory-mb", "8192")
    await run(settings, "quota", "default", "--memory-mb", "none")
    said = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert [(one["sandboxes"], one["memory_mb"]) for one in said] == [(1, 8192), (1, None)]
    await run(settings, "up", "one")
    with pytest.raises(Refused, match="may have 1 sandboxes"):
        await run(settings, "up", "two")
    capsys.readouterr()
    await run(settings, "usage")
    told = json.loads(capsys.readouterr().out)
    assert (told["now"]["sandboxes"], told["quota"]["sandboxes"]) == (1, 1)
