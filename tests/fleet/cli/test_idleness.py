"""Commands that say when a sandbox sleeps and wakes."""

import json

import pytest
from tandem_fleet.settings import Settings

from tests.fleet.cli.running import run

pytestmark = pytest.mark.anyio


async def test_the_policy_of_one_is_changed(settings: Settings, capsys: pytest.CaptureFixture[str]) -> None:
    await run(settings, "up", "work")
    assert await run(settings, "idle", "work", "--pause-after", "15") == 0
    assert capsys.readouterr().err.endswith("tandem: work: pause after minutes 15\n")
    assert await run(settings, "idle", "work") == 0
    assert capsys.readouterr().err.endswith("it goes on while nobody uses it\n")


async def test_times_are_added_listed_and_removed(settings: Settings, capsys: pytest.CaptureFixture[str]) -> None:
    await run(settings, "up", "work")
    capsys.readouterr()
    assert await run(settings, "wake", "work", "--at", "2099-01-01T08:00:00Z", "--every", "60") == 0
    (line,) = capsys.readouterr().out.splitlines()
    assert json.loads(line)["every_seconds"] == 3600
    assert await run(settings, "wake", "work", "--remove", json.loads(line)["id"]) == 0
    assert capsys.readouterr().out == ""
