"""Commands of snapshots and forks."""

import pytest
from tandem_fleet.errors import FleetError
from tandem_fleet.settings import Settings

from tests.fleet.answering import Answering
from tests.fleet.cli.running import run
from tests.fleet.keeping import EXPORT
from tests.fleet.test_snapshots import gateway

pytestmark = pytest.mark.anyio
__all__ = ["gateway"]


async def test_a_snapshot_is_made_restored_and_removed(settings: Settings, capsys: pytest.CaptureFixture[str]) -> None:
    await run(settings, "up", "work")
    capsys.readouterr()
    assert await run(settings, "snapshot", "work", "before") == 0
    said = capsys.readouterr()
    number = said.out.strip()
    assert [line.split(",")[0] for line in said.err.splitlines()] == [f"tandem: {number}: making", f"tandem: {number}: ready"]
    await run(settings, "snapshots", "ls")
    line = capsys.readouterr().out.split()
    assert (line[:4], line[-1]) == ([number, "ready", "3.0", "MB"], "before")
    assert await run(settings, "snapshots", "restore", number, "copy") == 0
    assert capsys.readouterr().out == "copy\n"
    assert await run(settings, "fork", "work", "-n", "2") == 0
    assert len(capsys.readouterr().out.split()) == 2
    assert await run(settings, "snapshots", "rm", number) == 0


async def test_a_failure_is_said(settings: Settings, answers: Answering) -> None:
    await run(settings, "up", "work")
    answers.answers[EXPORT] = (429, {"message": "the disk is full"})
    for words in (("snapshot", "work"), ("fork", "work")):
        with pytest.raises(FleetError, match="the disk is full"):
            await run(settings, *words)
