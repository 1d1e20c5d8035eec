"""Commands for when a fleet's machine or version changes."""

import gzip
import json
import stat
from dataclasses import replace
from pathlib import Path

import pytest
from tandem_fleet.errors import ConflictError, InvalidError
from tandem_fleet.settings import Settings

from tests.fleet.cli.running import run

pytestmark = pytest.mark.anyio


async def test_a_store_is_saved_and_restored_and_nothing_is_lost(
    settings: Settings, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "backup.gz"
    await run(settings, "up", "work")
    await run(settings, "tenant", "add", "one")
    assert await run(settings, "backup", str(file)) == 0
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    with pytest.raises(ConflictError, match="exists"):
        await run(settings, "backup", str(file))
    with pytest.raises(ConflictError, match="not empty"):
        await run(settings, "restore", str(file))
    capsys.readouterr()
    fresh = replace(settings, store=f"sqlite+aiosqlite:///{tmp_path}/restored.db")
    assert await run(fresh, "restore", str(file)) == 0
    assert "signing key" not in capsys.readouterr().err
    await run(fresh, "ps", "--json")
    assert [json.loads(line)["state"] for line in capsys.readouterr().out.splitlines()] == ["ready"]
    elsewhere = Settings.of({"TANDEM_STATE": str(tmp_path / "elsewhere")})
    assert await run(elsewhere, "restore", str(file)) == 0
    assert "the signing key is another one" in capsys.readouterr().err


async def test_a_file_that_was_cut_is_refused(settings: Settings, tmp_path: Path) -> None:
    file, cut = tmp_path / "backup.gz", tmp_path / "cut.gz"
    await run(settings, "up", "work")
    await run(settings, "backup", str(file))
    fresh = replace(settings, store=f"sqlite+aiosqlite:///{tmp_path}/restored.db")
    for content in (file.read_bytes()[:-20], b"", b"x", gzip.compress(b"\xff")):
        cut.write_bytes(content)
        with pytest.raises(InvalidError):
            await run(fresh, "restore", str(cut))


async def test_a_fleet_is_emptied_and_used_again(settings: Settings, capsys: pytest.CaptureFixture[str]) -> None:
    await run(settings, "up", "work")
    capsys.readouterr()
    assert await run(settings, "drain") == 1  # the gateway of these tests does not say whether it is used
    assert capsys.readouterr().out == "default/work\n"
    assert await run(settings, "drain", "--idle-minutes", "0") == 0
    assert "default/work is stopped" in capsys.readouterr().err
    assert await run(settings, "drain", "--end") == 0
    assert await run(settings, "up", "more") == 0
