"""Commands that make, list, change and remove sandboxes."""

import json

import pytest
from tandem_fleet.errors import InvalidError, SandboxFailedError
from tandem_fleet.settings import Settings

from tests.fleet.cli.running import run
from tests.fleet.engines import MemoryBackend

pytestmark = pytest.mark.anyio


async def test_up_makes_one_and_then_finds_it(settings: Settings, engine: MemoryBackend, capsys: pytest.CaptureFixture[str]) -> None:
    assert await run(settings, "up", "work", "--memory", "512", "--env", "A=b=c", "--label", "team=x") == 0
    said = capsys.readouterr()
    assert said.out == "work\n"
    assert [line.split(",")[0] for line in said.err.splitlines()][-2] == "tandem: work: ready"
    assert await run(settings, "up", "work", "--json") == 0
    one = json.loads(capsys.readouterr().out)
    assert (one["spec"]["memory_mb"], one["spec"]["environment"], one["spec"]["labels"]) == (512, {"A": "b=c"}, {"team": "x"})
    assert len(engine.sandboxes) == 1


async def test_up_starts_the_one_that_was_stopped(settings: Settings, capsys: pytest.CaptureFixture[str]) -> None:
    await run(settings, "up", "work")
    await run(settings, "stop", "work")
    assert await run(settings, "up", "work") == 0
    await run(settings, "ps", "--json")
    assert json.loads(capsys.readouterr().out.splitlines()[-1])["state"] == "ready"


async def test_ps_is_a_table_for_people(settings: Settings, gateway: str, capsys: pytest.CaptureFixture[str]) -> None:
    await run(settings, "up", "work")
    capsys.readouterr()
    assert await run(settings, "ps") == 0
    head, row = capsys.readouterr().out.splitlines()
    assert head.split() == ["NAME", "STATE", "AGE", "IMAGE", "ADDRESS"]
    name, state, age, unit, *rest = row.split()
    assert (name, state, unit, rest) == ("work", "ready", "s", ["image", gateway])
    assert int(age) < 60


async def test_orders_are_followed_until_they_are_done(
    settings: Settings, engine: MemoryBackend, capsys: pytest.CaptureFixture[str]
) -> None:
    await run(settings, "up", "one")
    await run(settings, "up", "two")
    for command, state in (("pause", "paused"), ("resume", "ready"), ("stop", "stopped"), ("start", "ready"), ("rm", "deleted")):
        capsys.readouterr()
        assert await run(settings, command, "one", "two") == 0
        ends = [line.split(",")[0].split(": ")[2] for line in capsys.readouterr().err.splitlines()]
        assert ends.count(state) == 2
    assert engine.sandboxes == {}


async def test_a_failure_is_said_and_the_failed_one_can_be_removed(settings: Settings, engine: MemoryBackend) -> None:
    engine.refuses.add("create")
    with pytest.raises(SandboxFailedError, match="work: the engine refused: no create"):
        await run(settings, "up", "work")
    assert await run(settings, "rm", "work") == 0


@pytest.mark.parametrize("words", [("exec", "work"), ("up", "--env", "A"), ("up", "--label", "x")])
async def test_arguments_that_say_nothing_are_refused(settings: Settings, words: tuple[str, ...]) -> None:
    with pytest.raises(InvalidError):
        await run(settings, *words)
