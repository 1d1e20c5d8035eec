"""Commands on tenants, keys and the record."""

import json
from dataclasses import replace

import pytest
from tandem_fleet.api import service
from tandem_fleet.cli.connection import Refused
from tandem_fleet.settings import Settings

from tests.fleet.cli.running import run

pytestmark = pytest.mark.anyio


async def test_a_tenants_key_opens_the_service_for_its_own_sandboxes_until_it_is_revoked(
    settings: Settings, capsys: pytest.CaptureFixture[str]
) -> None:
    async with service.serving(settings, host="127.0.0.1", port=0, key="right") as served:
        assert await run(settings, "tenant", "add", "one") == 0
        assert await run(settings, "key", "add", "ci", "--tenant", "one", "--days", "1") == 0
        one, key = capsys.readouterr().out.split()
        assert one == "one"
        theirs = replace(settings, url=f"http://127.0.0.1:{served.port}", key=key)
        assert await run(theirs, "up", "work") == 0
        capsys.readouterr()
        assert await run(settings, "ps") == 0
        assert "work" not in capsys.readouterr().out
        with pytest.raises(Refused, match="scope admin"):
            await run(theirs, "audit")
        assert await run(settings, "key", "ls", "--tenant", "one", "--json") == 0
        listed = json.loads(capsys.readouterr().out)
        assert listed["used_at"]
        assert await run(settings, "key", "rm", listed["id"], "--tenant", "one") == 0
        with pytest.raises(Refused, match="revoked"):
            await run(theirs, "ps")
        assert await run(settings, "audit", "--tenant", "one") == 0
        head, *rows = capsys.readouterr().out.splitlines()
        assert head.split() == ["AT", "CALLER", "ADDRESS", "STATUS", "CALL", "REQUEST"]
        assert [row.split("ci (")[1].split()[1:] for row in rows][-1][:4] == ["127.0.0.1", "201", "POST", "/v1/sandboxes"]


async def test_tenants_are_listed_and_removed(settings: Settings, capsys: pytest.CaptureFixture[str]) -> None:
    await run(settings, "tenant", "add", "one")
    capsys.readouterr()
    await run(settings, "tenant", "ls")
    assert [line.split()[0] for line in capsys.readouterr().out.splitlines()] == ["ID", "default", "one"]
    assert await run(settings, "tenant", "rm", "one") == 0
    await run(settings, "tenant", "ls", "--json")
    assert [json.loads(line)["id"] for line in capsys.readouterr().out.splitlines()] == ["default"]
    await run(settings, "key", "add", "ci", "--scope", "people", "--scope", "admin")
    capsys.readouterr()
    await run(settings, "key", "ls")
    assert "admin people" in capsys.readouterr().out
