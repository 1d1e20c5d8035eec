import asyncio
import json
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from sandbox_server.core.errors import InvalidArgument, Unavailable
from sandbox_server.drivers.egress import egress_client
from sandbox_server.drivers.egress.egress_client import EgressClient
from sandbox_server.drivers.egress.policy_document import EgressPolicyError

pytestmark = pytest.mark.anyio


class Process:
    """A process on a control socket that says what it is told to."""

    def __init__(self, path: str) -> None:
        self.path = path
        self.heard: list[object] = []
        self.says: list[bytes] = []
        self.stays = False
        self._server: asyncio.Server | None = None

    async def start(self) -> None:
        """Listen."""
        self._server = await asyncio.start_unix_server(self._serve, self.path)

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.heard.append(json.loads(await reader.readline()))
        for line in self.says:
            writer.write(line + b"\n")
        if self.stays:
            await reader.read()
        writer.close()

    async def close(self) -> None:
        """Hang up."""
        if self._server:
            self._server.close()


@pytest.fixture
async def process(tmp_path: Path) -> AsyncIterator[Process]:
    made = Process(str(tmp_path / "egress.sock"))
    await made.start()
    yield made
    await made.close()


async def test_a_request_has_its_answer(process: Process) -> None:
    process.says = [b'{"ok": {"cut": 3}}']
    assert await EgressClient(process.path).ask("policy", policy={"default": "deny"}) == {"cut": 3}
    assert process.heard == [{"op": "policy", "policy": {"default": "deny"}}]


async def test_a_policy_that_is_wrong_is_refused_field_by_field(process: Process) -> None:
    process.says = [b'{"refused": "x", "errors": [{"pointer": "/rules", "message": "must be a list"}]}']
    with pytest.raises(EgressPolicyError) as refused:
        await EgressClient(process.path).ask("policy", policy={})
    assert refused.value.errors == [("/rules", "must be a list")]


@pytest.mark.parametrize(
    ("said", "kind"),
    [
        (b'{"refused": "no operation"}', InvalidArgument),
        (b'{"refused": "the policy cannot be kept: No space left on device", "kind": "unavailable"}', Unavailable),
        (b"", Unavailable),
        (b"[]", Unavailable),
        (b"x", Unavailable),
        (b"[" * 100_000, Unavailable),
    ],
)
async def test_whatever_it_says_is_an_answer_or_a_failure_with_words(process: Process, said: bytes, kind: type[Exception]) -> None:
    process.says = [said] if said else []
    with pytest.raises(kind, match=r"."):
        await EgressClient(process.path).ask("status")


async def test_a_process_that_is_away_is_said_to_be(tmp_path: Path) -> None:
    client = EgressClient(str(tmp_path / "none.sock"))
    with pytest.raises(Unavailable, match="does not answer") as away:
        await client.ask("status")
    assert away.value.details == {"reason": "away"}
    assert away.value.retry_after
    with pytest.raises(Unavailable, match="does not answer"):
        await anext(client.follow())


async def test_one_that_takes_too_long_is_given_up(process: Process, monkeypatch: pytest.MonkeyPatch) -> None:
    process.stays = True
    monkeypatch.setattr(egress_client, "ASK_SECONDS", 0.05)
    with pytest.raises(Unavailable, match="too long"):
        await EgressClient(process.path).ask("status")


async def test_where_there_is_none_everything_says_why() -> None:
    client = EgressClient("/nowhere", off="the isolation level is users")
    for asked in (client.ask("status"), anext(client.follow())):
        with pytest.raises(Unavailable, match="isolation level is users") as off:
            await asked
        assert off.value.details == {"reason": "off"}


async def test_events_are_followed_to_the_end_of_the_process(process: Process) -> None:
    process.says = [b'{"ok": {}}', b'{"event": "open"}', b'{"event": "close"}']
    assert [event async for event in EgressClient(process.path).follow()] == [{}, {"event": "open"}, {"event": "close"}]


@pytest.mark.parametrize("said", [b'{"refused": "too many follow the events already"}', b"[]"])
async def test_who_may_not_follow_is_told_so(process: Process, said: bytes) -> None:
    process.says = [said]
    with pytest.raises(Unavailable):
        await anext(EgressClient(process.path).follow())
