import asyncio
from collections.abc import AsyncIterator, Callable
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from sandbox_server.core.errors import Conflict, Unavailable
from sandbox_server.drivers.proxy import forward_proxy as module
from sandbox_server.drivers.proxy.forward_proxy import ForwardProxy
from sandbox_server.drivers.proxy.haproxy import Haproxy
from sandbox_server.drivers.proxy.routing_plan import ProxyPlan
from sandbox_server.drivers.spawn.process import Processes
from sandbox_server.drivers.spawn.process_environment import ProcessEnvironment
from sandbox_server.drivers.storage.json_file import JsonFile
from sandbox_server.settings import load
from sandbox_server.settings.proxy import ROUTES, upstream
from tests.patience import eventually

if TYPE_CHECKING:
    from tests.conftest import SpawnerDaemon

pytestmark = pytest.mark.anyio

SERVER = upstream("user:secret@127.0.0.1:3128")
TOKEN = "dXNlcjpzZWNyZXQ="
"""`user:secret` in base64."""


class Told(Haproxy):
    """A proxy that keeps what it is told; `refuses` makes it take nothing."""

    def __init__(self) -> None:
        super().__init__("/nowhere")
        self.told: list[str] = []
        self.reloads = 0
        self.refuses = False

    async def apply(self, configuration: str) -> None:
        if self.refuses:
            raise Unavailable("it does not take that")
        self.told.append(configuration)

    async def reload(self) -> None:
        self.reloads += 1

    async def alive(self) -> bool:
        return bool(self.told)

    def waits(self) -> bool:
        return not self.told

    def has(self, configuration: str) -> bool:
        return self.told[-1:] == [configuration]


class Browser:
    """Keeps where it was told to go."""

    def __init__(self) -> None:
        self.told: list[str | None] = []

    async def use_proxy(self, address: str | None) -> None:
        self.told.append(address)


class Parts:
    """A proxy with what it works with; `open` makes another on the same file, as after a restart."""

    def __init__(self, file: Path, socket: str = "/nowhere", kind: type[Processes] = Processes) -> None:
        self.environment = ProcessEnvironment()
        self.processes = kind(socket, environment=self.environment)
        self.file = JsonFile(str(file))
        self.path = file
        self.haproxy = Told()
        self.browser = Browser()

    def make(self, *, enabled: bool = True, **variables: str) -> ForwardProxy:
        return ForwardProxy(load(variables).proxy, self.file, self.haproxy, self.processes, self.environment, self.browser, enabled=enabled)


@pytest.fixture
def parts(tmp_path: Path) -> Parts:
    return Parts(tmp_path / "proxy.json")


@pytest.fixture
async def proxy(parts: Parts) -> AsyncIterator[ForwardProxy]:
    async with parts.make() as made:
        yield made


def to(found: Any) -> Callable[[ProxyPlan], ProxyPlan]:
    return lambda plan: replace(plan, upstream=found)


async def test_nothing_is_started_while_nobody_wants_a_proxy(parts: Parts, proxy: ForwardProxy) -> None:
    await proxy.change(lambda plan: replace(plan, excludes=("a",)))

    assert (parts.haproxy.told, parts.browser.told, parts.processes.environment) == ([], [], {})
    assert await proxy.state() == (True, True)


async def test_an_upstream_counts_for_the_proxy_the_browser_and_new_processes(parts: Parts, proxy: ForwardProxy) -> None:
    await proxy.change(to(SERVER))

    assert TOKEN in parts.haproxy.told[-1]
    assert parts.browser.told == ["127.0.0.1:8118"]
    assert parts.processes.environment["http_proxy"] == "http://127.0.0.1:8118"
    assert await proxy.state() == (True, True)


async def test_it_is_the_way_to_what_the_upstream_is_asked_for(proxy: ForwardProxy) -> None:
    assert proxy.way("far.example") is None
    await proxy.change(lambda plan: replace(plan, upstream=SERVER, excludes=("near.example",)))

    assert (proxy.way("far.example"), proxy.way("near.example"), proxy.way("127.0.0.1")) == ("127.0.0.1:8118", None, None)


async def test_another_upstream_leaves_the_browser_alone(parts: Parts, proxy: ForwardProxy) -> None:
    await proxy.change(to(SERVER))
    await proxy.change(to(upstream("127.0.0.1:3129")))

    assert TOKEN not in parts.haproxy.told[-1]
    assert len(parts.browser.told) == 1


async def test_without_an_upstream_the_browser_goes_directly_and_the_proxy_serves_who_still_uses_it(
    parts: Parts, proxy: ForwardProxy
) -> None:
    await proxy.change(to(SERVER))
    await proxy.change(to(None))

    assert (parts.browser.told[-1], parts.processes.environment) == (None, {})
    assert "default_backend direct" in parts.haproxy.told[-1]
    assert TOKEN not in parts.haproxy.told[-1]


async def test_a_plan_that_the_proxy_does_not_take_changes_nothing(parts: Parts, proxy: ForwardProxy) -> None:
    parts.haproxy.refuses = True

    with pytest.raises(Unavailable):
        await proxy.change(to(SERVER))

    assert (proxy.plan, parts.browser.told, parts.file.read(), parts.processes.environment) == (ProxyPlan(), [], None, {})


async def test_what_was_changed_counts_more_than_the_variables_after_a_restart(parts: Parts) -> None:
    async with parts.make(PROXY_SERVER="first.example:1") as first:
        assert "first.example:1" in parts.haproxy.told[-1]
        await first.change(to(SERVER))
    async with parts.make(PROXY_SERVER="first.example:1") as second:
        assert second.plan.upstream == replace(SERVER, password=second.plan.upstream.password if second.plan.upstream else None)
        assert TOKEN in parts.haproxy.told[-1]
        assert parts.processes.environment


async def test_what_cannot_be_read_again_is_forgotten(parts: Parts) -> None:
    parts.path.write_text('{"upstream": 3}')

    async with parts.make(PROXY_MAP="a.example=:1") as proxy:
        assert [route.host for route in proxy.plan.routes] == ["a.example"]


async def test_a_proxy_that_does_not_come_up_does_not_keep_the_server_down(parts: Parts) -> None:
    parts.haproxy.refuses = True

    async with parts.make(PROXY_SERVER="first.example:1") as proxy:
        assert await proxy.state() == (True, False)


async def test_one_that_was_left_out_says_so(parts: Parts) -> None:
    async with parts.make(enabled=False, PROXY_SERVER="first.example:1") as proxy:
        assert parts.haproxy.told == []
        with pytest.raises(Unavailable, match="DISABLE_PROXY"):
            await proxy.change(to(SERVER))


@pytest.fixture
def commanded(spawner: "SpawnerDaemon", tmp_path: Path) -> Parts:
    """One whose commands are run; here by the same user as the agent's, there is no desktop."""

    class AnyUser(Processes):
        async def run(self, argv: Any, **options: Any) -> Any:
            assert options.pop("user") == "desktop", "the agent would see what it writes"
            return await super().run(argv, **options)

    return Parts(tmp_path / "proxy.json", spawner.socket, AnyUser)


async def test_a_command_writes_the_credentials(commanded: Parts) -> None:
    async with commanded.make() as proxy:
        await proxy.change(lambda plan: replace(plan, upstream=SERVER, auth_command="printf 'other:p:w\\n'"))

        assert proxy.plan.upstream
        assert proxy.plan.upstream.password
        assert (proxy.plan.upstream.username, proxy.plan.upstream.password.reveal()) == ("other", "p:w")
        assert "p:w" not in commanded.path.read_text().replace("printf 'other:p:w", "")


@pytest.mark.parametrize("command", ["exit 3", "echo secret", "printf 'a:secret\\nb:secret'", "printf '\\377:secret'", "sleep 60 # secret"])
async def test_a_command_that_writes_none_changes_nothing_and_is_not_repeated(
    commanded: Parts, command: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    if command.startswith("sleep"):
        monkeypatch.setattr(module, "AUTH_SECONDS", 0.2)
    async with commanded.make() as proxy:
        with pytest.raises(Conflict, match="the command for the upstream proxy's credentials") as failed:
            await proxy.change(lambda plan: replace(plan, upstream=SERVER, auth_command=command))

        assert proxy.plan == ProxyPlan()
        assert "secret" not in str(failed.value) + str(failed.value.details)


async def test_the_command_is_run_again_after_a_while(commanded: Parts, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(module, "REFRESH_SECONDS", 0.05)
    tmp_path.parent.parent.chmod(0o755)
    tmp_path.parent.chmod(0o755)
    tmp_path.chmod(0o777)
    command = f"echo x >>{tmp_path}/runs; printf user:; wc -l <{tmp_path}/runs"
    async with commanded.make() as proxy:
        await proxy.change(lambda plan: replace(plan, upstream=SERVER, auth_command=command))
        first = len(commanded.haproxy.told)

        await eventually(lambda: len(commanded.haproxy.told) > first)

        assert commanded.haproxy.told[-1] != commanded.haproxy.told[first - 1]


async def test_a_host_that_has_moved_is_looked_up_again(parts: Parts, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "REFRESH_SECONDS", 0.01)
    places = [frozenset({"10.0.0.1"})]

    async def found(_: ForwardProxy, __: ProxyPlan) -> frozenset[str]:
        return places[-1]

    monkeypatch.setattr(ForwardProxy, "_places", found)
    async with parts.make() as proxy:
        await proxy.change(lambda plan: replace(plan, routes=ROUTES.parse("a.example=host:1")))
        await asyncio.sleep(0)
        assert parts.haproxy.reloads == 0
        places.append(frozenset({"10.0.0.2"}))

        await eventually(lambda: parts.haproxy.reloads)


class Egress:
    """Keeps what leaves the box by what upstream; `refuses` makes it take nothing."""

    def __init__(self) -> None:
        self.used: list[ProxyPlan] = []
        self.refuses = False

    async def use(self, plan: ProxyPlan) -> None:
        if self.refuses:
            raise Unavailable("it does not answer")
        self.used.append(plan)


def in_a_box(parts: Parts, egress: Egress) -> ForwardProxy:
    return ForwardProxy(load({}).proxy, parts.file, parts.haproxy, parts.processes, parts.environment, parts.browser, egress=egress)


async def test_in_the_boxs_network_the_upstream_is_the_egress_process_s_and_haproxy_has_no_password(parts: Parts) -> None:
    egress = Egress()
    async with in_a_box(parts, egress) as proxy:
        await proxy.change(to(SERVER))
        assert await proxy.state() == (True, True)

    assert egress.used[-1].upstream == SERVER
    assert parts.haproxy.told
    assert not any(TOKEN in told or "3128" in told for told in parts.haproxy.told)


async def test_an_upstream_that_the_egress_process_does_not_take_changes_nothing(parts: Parts) -> None:
    egress = Egress()
    egress.refuses = True
    async with in_a_box(parts, egress) as proxy:
        with pytest.raises(Unavailable):
            await proxy.change(to(SERVER))
        assert proxy.plan.upstream is None
    assert parts.haproxy.told == []


async def test_an_upstream_of_before_is_forgotten_where_none_is_asked_for(parts: Parts) -> None:
    egress = Egress()
    async with in_a_box(parts, egress):
        await eventually(lambda: egress.used == [ProxyPlan()])


async def test_after_a_restart_the_egress_process_is_told_again(parts: Parts) -> None:
    async with in_a_box(parts, Egress()) as proxy:
        await proxy.change(to(SERVER))
    egress = Egress()
    async with in_a_box(parts, egress):
        assert [plan.upstream.address for plan in egress.used if plan.upstream] == [SERVER.address]
