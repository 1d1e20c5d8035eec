import asyncio
import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from sandbox_server.core.errors import Unavailable
from sandbox_server.drivers.egress.upstream import parse_upstream
from sandbox_server.drivers.proxy import egress_upstream
from sandbox_server.drivers.proxy.egress_upstream import EgressUpstreamClient, request
from sandbox_server.drivers.proxy.routing_plan import ProxyPlan
from sandbox_server.settings.proxy import upstream

pytestmark = pytest.mark.anyio
PLAN = ProxyPlan(upstream("https://a%40b:p%2Fw:x@proxy.corp:8443"), None, (".near",), ("*.far",))


class Egress:
    """The control socket of an egress process."""

    def __init__(self, answer: bytes = b'{"ok": {}}\n') -> None:
        self.heard: list[Any] = []
        self._answer = answer

    async def serve(self, path: Path) -> asyncio.Server:
        return await asyncio.start_unix_server(self._attend, path)

    async def _attend(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.heard.append(json.loads(await reader.readline()))
        writer.write(self._answer)
        writer.close()


async def test_the_egress_process_is_told_and_reads_the_same_credentials(tmp_path: Path) -> None:
    egress = Egress()
    async with await egress.serve(tmp_path / "s"):
        await EgressUpstreamClient(str(tmp_path / "s")).use(PLAN)
        await EgressUpstreamClient(str(tmp_path / "s")).use(ProxyPlan())

    told, none = egress.heard
    read = parse_upstream(told["url"])
    assert (read.scheme, read.host, read.port, read.user, read.password) == ("https", "proxy.corp", 8443, "a@b", "p/w:x")
    assert (told["op"], told["excludes"], told["includes"], none["url"]) == ("upstream", [".near"], ["*.far"], None)


def test_an_upstream_without_credentials_has_none() -> None:
    assert request(replace(PLAN, upstream=upstream("proxy.corp:3128")))["url"] == "http://proxy.corp:3128"


async def test_a_process_that_starts_is_waited_for(tmp_path: Path) -> None:
    egress, told = Egress(), asyncio.ensure_future(EgressUpstreamClient(str(tmp_path / "s")).use(PLAN))
    await asyncio.sleep(0)
    async with await egress.serve(tmp_path / "s"):
        await asyncio.wait_for(told, 20)
    assert len(egress.heard) == 1


@pytest.mark.parametrize("answer", [b"", b"no\n", b'{"refused": "p/w:x"}\n'])
async def test_a_refusal_says_nothing_of_the_credentials(tmp_path: Path, answer: bytes) -> None:
    async with await Egress(answer).serve(tmp_path / "s"):
        with pytest.raises(Unavailable) as raised:
            await EgressUpstreamClient(str(tmp_path / "s")).use(PLAN)
    assert "p/w" not in str(raised.value)


async def test_a_process_that_never_comes_is_not_waited_for_for_ever(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(egress_upstream, "START_SECONDS", 0.01)
    with pytest.raises(Unavailable):
        await EgressUpstreamClient(str(tmp_path / "s")).use(PLAN)
