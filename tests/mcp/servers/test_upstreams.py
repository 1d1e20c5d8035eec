import asyncio
import json
from pathlib import Path

import pytest
from mcp.shared.subscriptions import ServerEvent, ToolsListChanged

from sandbox_server.core import NotFound, Unavailable
from sandbox_server.drivers.storage.json_file import JsonFile
from sandbox_server.mcp.notifications.changes import EVERY_LIST, ChangeNotifications
from sandbox_server.mcp.servers import upstreams as module
from sandbox_server.mcp.servers.configuration import ServerConfig
from sandbox_server.mcp.servers.connection import ServerListener
from sandbox_server.mcp.servers.registry import ServerRegistry
from sandbox_server.mcp.servers.stdio_transport import StderrTail
from sandbox_server.mcp.servers.upstreams import UpstreamServers
from sandbox_server.mcp.tool_filter import ToolFilter
from tests.mcp.conftest import InProcessConnector, servers_of
from tests.patience import eventually

pytestmark = pytest.mark.anyio

CODE = ToolFilter(frozenset({"code"}))


async def names(servers: UpstreamServers, tool_filter: ToolFilter = CODE) -> list[str]:
    return [foreign.name for foreign in await servers.listed(tool_filter)]


async def test_tools_get_the_servers_name_before_theirs_and_never_twice(in_process: InProcessConnector) -> None:
    _, servers = servers_of(in_process.connect, sample={"command": "x", "tools": ["echo", "sample_*"]})
    async with servers.open():
        assert await names(servers) == ["sample_echo", "sample_sum"]


async def test_a_prefix_may_be_another_or_none(in_process: InProcessConnector) -> None:
    _, servers = servers_of(in_process.connect, a={"command": "x", "prefix": ""}, b={"command": "x", "prefix": "my."})
    async with servers.open():
        assert {"echo", "my.echo"} <= set(await names(servers))


async def test_a_dead_server_does_not_break_the_list(in_process: InProcessConnector) -> None:
    in_process.fails = [OSError("dead")] * 9
    _, servers = servers_of(in_process.connect, dead={"command": "x"})
    living, _ = InProcessConnector(), None
    _, both = servers_of(living.connect, sample={"command": "x"})
    async with servers.open(), both.open():
        assert await names(servers) == []
        assert "sample_echo" in await names(both)
        with pytest.raises(Unavailable, match="dead"):
            await servers.find("dead_echo", CODE)


async def test_a_slow_server_does_not_hold_up_the_list(in_process: InProcessConnector, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "LIST_SECONDS", 0.01)
    started = asyncio.Event()

    def connect(config: ServerConfig, ended: asyncio.Event, said: StderrTail, listener: ServerListener):  # type: ignore[no-untyped-def]
        class Never:
            async def __aenter__(self) -> None:
                started.set()
                await asyncio.Event().wait()

            async def __aexit__(self, *_: object) -> None: ...

        return Never() if config.command == "slow" else in_process.connect(config, ended, said, listener)

    _, servers = servers_of(connect, slow={"command": "slow"})
    async with servers.open():
        assert await names(servers) == []
        assert started.is_set()


async def test_a_view_shows_what_its_caller_may_use(in_process: InProcessConnector) -> None:
    _, servers = servers_of(in_process.connect, sample={"command": "x", "scope": "browser", "tags": ["web"]})
    async with servers.open():
        assert await names(servers) == []
        assert in_process.opened == 0
        browser = frozenset({"browser"})
        assert await names(servers, ToolFilter(browser, read_only=True)) == ["sample_echo"]
        assert await names(servers, ToolFilter(browser, tags=frozenset({"web"}), names=frozenset({"sample_echo"}))) == ["sample_echo"]
        assert await names(servers, ToolFilter(browser, tags=frozenset({"shell"}))) == []
        assert len(await names(servers, ToolFilter(browser, search="sample"))) == 9
        assert await names(servers, ToolFilter(browser, allowed=("sample_e*",))) == ["sample_echo"]
        assert await servers.find("sample_fail", ToolFilter(browser, allowed=("sample_e*",))) is None


async def test_a_hidden_server_is_seen_by_who_names_it(in_process: InProcessConnector) -> None:
    _, servers = servers_of(in_process.connect, sample={"command": "x", "hidden": True})
    async with servers.open():
        assert await names(servers) == []
        assert "sample_echo" in await names(servers, ToolFilter(frozenset({"code"}), servers=frozenset({"sample"})))


async def test_servers_that_are_not_named_are_not_started(in_process: InProcessConnector) -> None:
    _, servers = servers_of(in_process.connect, one={"command": "x"}, two={"command": "x"})
    async with servers.open():
        await names(servers, ToolFilter(frozenset({"code"}), servers=frozenset({"two"})))
        assert in_process.opened == 1
        assert await servers.find("two_echo", CODE)
        assert in_process.opened == 1


async def test_a_server_that_is_no_longer_wanted_is_ended(in_process: InProcessConnector, tmp_path) -> None:  # type: ignore[no-untyped-def]
    from sandbox_server.drivers.storage.json_file import JsonFile
    from sandbox_server.mcp.servers.registry import ServerRegistry

    registry = ServerRegistry({}, "/nowhere", None, JsonFile(str(tmp_path / "added.json")))
    servers = UpstreamServers(registry, in_process.connect, idle_seconds=0)
    async with servers.open():
        registry.add("mine", {"command": "x"})
        assert "mine_echo" in await names(servers)
        old = servers.get("mine", CODE)
        registry.add("mine", {"command": "y"})
        assert servers.get("mine", CODE) is not old
        registry.remove("mine")
        assert await names(servers) == []
        with pytest.raises(NotFound):
            servers.get("mine", CODE)


async def test_the_status_tells_without_starting_anything(in_process: InProcessConnector) -> None:
    _, servers = servers_of(in_process.connect, sample={"command": "x"})
    async with servers.open():
        [before] = servers.status(CODE)
        await names(servers)
        [after] = servers.status(CODE)

    assert (before["state"], before["tools"]) == ("stopped", None)
    assert (after["state"], after["tools"], after["origin"]) == ("running", 9, "built-in")
    assert servers.status(ToolFilter(frozenset())) == []


async def test_clients_hear_that_servers_came_and_went_and_that_one_came_too_late_for_a_list(
    in_process: InProcessConnector, tmp_path: Path
) -> None:
    told: list[ServerEvent] = []
    changes = ChangeNotifications()
    changes.bus.subscribe(told.append)
    registry = ServerRegistry({}, str(tmp_path / "servers.json"), None, JsonFile(str(tmp_path / "added.json")))
    servers = UpstreamServers(registry, in_process.connect, idle_seconds=0, changes=changes)
    async with servers.open():
        with changes.listening():
            servers.all()
            assert told == []
            (tmp_path / "servers.json").write_text(json.dumps({"mcpServers": {"sample": {"command": "x"}}}))
            await eventually(lambda: set(told) == set(EVERY_LIST))
        told.clear()
        in_process.fails = [OSError("not yet")]
        assert await names(servers) == []
        assert "sample_echo" in await names(servers)
        await eventually(lambda: told == [ToolsListChanged()])
