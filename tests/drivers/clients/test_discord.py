"""A bot of Discord, with a stand-in of its API and gateway."""

import asyncio
from collections.abc import Iterator

import pytest

from sandbox_server.core import Unavailable
from sandbox_server.core.tasks import start_task
from sandbox_server.drivers.clients import discord as module
from sandbox_server.drivers.clients.discord import DiscordBot, DiscordRejected
from sandbox_server.drivers.clients.json_calls import SocketClosed
from tests.discord_server import CHANNEL, TOKEN, DiscordServer
from tests.patience import eventually

pytestmark = pytest.mark.anyio


@pytest.fixture
def discord() -> Iterator[DiscordServer]:
    made = DiscordServer(heartbeat=50)
    with made.serving():
        yield made
    assert made.wrong == []


def bot(discord: DiscordServer, token: str = TOKEN) -> DiscordBot:
    return DiscordBot(f"http://127.0.0.1:{discord.port}/api/v10/", token, "1.0")


async def test_it_identifies_and_keeps_the_connection_by_heartbeats(discord: DiscordServer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "HEARTBEATS", (0.05, 1.0))
    async with bot(discord).gateway() as gateway:
        assert await gateway.event() is not None
        discord.send({"op": 1, "d": None})
        discord.send({"op": 0, "t": "INTERACTION_CREATE", "s": 41, "d": {"id": "1"}})
        assert await gateway.event() == ("INTERACTION_CREATE", {"id": "1"})
        discord.send({"op": 0, "t": "READY", "s": 42, "d": {}})
        await gateway.event()
        reading = start_task(gateway.event())
        await eventually(lambda: 42 in discord.beats)
        reading.cancel()
        await asyncio.wait([reading])


async def last_event(discord: DiscordServer) -> None:
    """Follow the gateway until it ends."""
    async with bot(discord).gateway() as gateway:
        while await gateway.event():
            pass


async def test_a_connection_that_answers_no_heartbeat_is_ended(discord: DiscordServer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "HEARTBEATS", (0.05, 1.0))
    discord.answers_beats = False
    with pytest.raises(SocketClosed):
        await last_event(discord)


@pytest.mark.parametrize("op", [7, 9])
async def test_discord_may_ask_for_a_new_connection(discord: DiscordServer, op: int) -> None:
    async with bot(discord).gateway() as gateway:
        await gateway.event()
        discord.send({"op": op, "d": False})
        assert await gateway.event() is None


async def test_a_wrong_token_is_refused_and_not_told(discord: DiscordServer) -> None:
    wrong = bot(discord, "s3cret.wrong")
    with pytest.raises(Unavailable, match="401") as failed:
        await wrong.call("GET", "/gateway/bot")
    assert "s3cret" not in failed.value.message
    result, answer = await wrong.deliver("POST", f"/channels/{CHANNEL}/messages", {})
    assert (result.status, result.error, answer) == (401, "401: Unauthorized", None)


async def test_a_gateway_that_lets_the_bot_not_in_is_told_apart(discord: DiscordServer) -> None:
    closing = asyncio.get_running_loop().run_in_executor(None, discord.close, 4004)
    with pytest.raises(DiscordRejected, match="4004"):
        await last_event(discord)
    await closing


async def test_an_api_that_does_not_answer_is_a_reason_without_an_address() -> None:
    gone = DiscordBot("http://127.0.0.1:9/s3cret", TOKEN, "1.0")
    result, _ = await gone.deliver("POST", "/x", {})
    assert (result.status, result.error) == (None, "Discord did not answer: ConnectError")
