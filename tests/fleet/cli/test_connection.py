"""How the command line reaches the service."""

import asyncio
from dataclasses import replace

import pytest
from tandem_fleet.api import service
from tandem_fleet.cli import connection
from tandem_fleet.cli.connection import Refused, connected
from tandem_fleet.errors import ConflictError, EngineUnreachableError
from tandem_fleet.settings import Settings

pytestmark = pytest.mark.anyio


async def test_alone_it_serves_itself_and_leaves_no_socket(settings: Settings) -> None:
    async with connected(settings) as fleet:
        made = await fleet.call("POST", "/v1/sandboxes", {"name": "work"}, wait=60)
        assert (made["state"], made["spec"]["image"]) == ("ready", "image")
    assert not settings.socket.exists()
    async with connected(settings) as fleet:
        assert [one["name"] for one in (await fleet.call("GET", "/v1/sandboxes"))["sandboxes"]] == ["work"]


async def test_beside_another_it_uses_that_ones_service(settings: Settings) -> None:
    async with service.serving(settings), connected(settings) as fleet:
        await fleet.call("POST", "/v1/sandboxes", {"name": "work"})
    assert not settings.socket.exists()


async def test_two_do_not_work_on_a_fleet_at_the_same_time(settings: Settings) -> None:
    async with service.serving(settings):
        with pytest.raises(ConflictError, match="another process"):
            async with service.serving(settings):
                pass


async def test_several_at_once_all_get_their_answer(settings: Settings) -> None:
    async def make(name: str) -> str:
        async with connected(settings) as fleet:
            return str((await fleet.call("POST", "/v1/sandboxes", {"name": name}, wait=60))["state"])

    assert await asyncio.gather(*(make(f"s{number}") for number in range(4))) == ["ready"] * 4


async def test_the_socket_is_its_users_alone(settings: Settings) -> None:
    async with service.serving(settings):
        assert settings.socket.stat().st_mode & 0o777 == 0o600
        assert settings.state.stat().st_mode & 0o777 == 0o700


async def test_on_a_port_the_key_is_asked_for(settings: Settings) -> None:
    async with service.serving(settings, host="127.0.0.1", port=0, key="right") as served:
        there = replace(settings, url=f"http://127.0.0.1:{served.port}")
        async with connected(replace(there, key="right")) as fleet:
            assert (await fleet.call("GET", "/v1/sandboxes"))["sandboxes"] == []
        async with connected(replace(there, key="wrong")) as fleet:
            with pytest.raises(Refused, match="key"):
                await fleet.call("GET", "/v1/sandboxes")


async def test_a_service_that_is_not_there_is_said(settings: Settings) -> None:
    async with connected(replace(settings, url="http://127.0.0.1:9")) as fleet:
        with pytest.raises(EngineUnreachableError, match="does not answer"):
            await fleet.call("GET", "/v1/sandboxes")


async def test_a_refusal_comes_in_the_services_words(settings: Settings) -> None:
    async with connected(settings) as fleet:
        with pytest.raises(Refused, match="there is no sandbox 'none'"):
            await fleet.call("GET", "/v1/sandboxes/none")


async def test_lines_come_as_they_are_sent(settings: Settings) -> None:
    async with connected(settings) as fleet:
        await fleet.call("POST", "/v1/sandboxes", {"name": "work"}, wait=60)
        assert [line async for line in fleet.lines("/v1/sandboxes/work/logs")] == ["a line"]
        with pytest.raises(Refused, match="no sandbox"):
            [line async for line in fleet.lines("/v1/sandboxes/none/logs")]


async def test_who_holds_the_lock_and_does_not_answer_is_waited_for_and_said(settings: Settings, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connection, "OPEN_SECONDS", 0.2)
    with service.claimed(settings), pytest.raises(ConflictError):
        async with connected(settings):
            pass
