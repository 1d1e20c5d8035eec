"""Commands of templates."""

import json
from pathlib import Path

import pytest
from tandem_fleet.cli.connection import connected
from tandem_fleet.errors import InvalidError
from tandem_fleet.settings import Settings

from tests.fleet.cli.running import run
from tests.waiting import eventually

pytestmark = pytest.mark.anyio


async def test_a_template_is_kept_and_used(settings: Settings, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    policy = tmp_path / "policy.json"
    policy.write_text('{"default": "deny"}')
    words = ("--memory", "512", "--env", "A=1", "--egress", str(policy), "--pause-after", "15")
    assert await run(settings, "template", "put", "small", *words) == 0
    assert capsys.readouterr().out == "small@1\n"
    assert await run(settings, "up", "work", "--template", "small", "--env", "B=2", "--json") == 0
    spec = json.loads(capsys.readouterr().out)["spec"]
    assert (spec["memory_mb"], spec["template"], spec["idle"]["pause_after_minutes"]) == (512, "small@1", 15)
    assert spec["environment"] == {"A": "1", "B": "2", "EGRESS_POLICY": '{"default": "deny"}'}
    assert await run(settings, "template", "ls") == 0
    assert capsys.readouterr().out == "small@1  image\n"


async def test_one_is_copied_by_its_file(settings: Settings, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    await run(settings, "template", "put", "small", "--memory", "512", "--pool", "1:3")
    capsys.readouterr()
    await run(settings, "template", "show", "small")
    content = json.loads(capsys.readouterr().out)["content"]
    assert content["pool"] == {"min": 1, "max": 3}
    file = tmp_path / "template.json"
    file.write_text(json.dumps(content))
    await run(settings, "template", "put", "copy", "--file", str(file), "--memory", "1024", "--pool", "0:2")
    await run(settings, "template", "show", "copy")
    assert json.loads(capsys.readouterr().out.removeprefix("copy@1\n"))["content"]["memory_mb"] == 1024
    assert await run(settings, "template", "rm", "small", "copy") == 0


@pytest.mark.parametrize("words", [("--pool", "x"), ("--file", "/nowhere"), ("--egress", "/nowhere")])
async def test_arguments_that_say_nothing_are_refused(settings: Settings, words: tuple[str, ...]) -> None:
    with pytest.raises(InvalidError):
        await run(settings, "template", "put", "small", *words)


async def test_how_many_wait_is_said(settings: Settings, capsys: pytest.CaptureFixture[str]) -> None:
    async with connected(settings):  # a service that fills the pool, for both commands
        await run(settings, "template", "put", "small", "--pool", "1:3")
        capsys.readouterr()

        async def ready() -> bool:
            await run(settings, "template", "pools")
            return capsys.readouterr().out == "small@1  1 ready, 0 starting, 1 wanted\n"

        await eventually(ready, 60)
