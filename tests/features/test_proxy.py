import os
import socket
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest

from sandbox_server.core.errors import InvalidArgument, NotFound, ResourceExhausted
from sandbox_server.drivers.ports.listening_ports import Ports
from sandbox_server.drivers.proxy.forward_proxy import ForwardProxy
from sandbox_server.drivers.spawn.process import Processes
from sandbox_server.drivers.spawn.process_environment import ProcessEnvironment
from sandbox_server.drivers.stats.components import ComponentSockets
from sandbox_server.drivers.storage.json_file import JsonFile
from sandbox_server.features import proxy as module
from sandbox_server.features.proxy import (
    DiagnoseRequest,
    MappingRef,
    ProxyBypassRequest,
    ProxyDiagnoseResult,
    ProxyMappingAddRequest,
    ProxyOperations,
    ProxyPac,
    ProxyUpstream,
    ProxyUpstreamUpdateRequest,
)
from sandbox_server.settings import load
from tests.drivers.proxy.test_forward_proxy import Told

pytestmark = pytest.mark.anyio


@pytest.fixture
def haproxy() -> Told:
    return Told()


@pytest.fixture
async def proxy(haproxy: Told, tmp_path: Path) -> AsyncIterator[ForwardProxy]:
    async with ForwardProxy(
        load({}).proxy, JsonFile(f"{tmp_path}/proxy.json"), haproxy, Processes("/nowhere"), ProcessEnvironment(), None
    ) as made:
        yield made


@pytest.fixture
def feature(proxy: ForwardProxy) -> ProxyOperations:
    return ProxyOperations(proxy, ComponentSockets({}))


@pytest.fixture
def port() -> Iterator[int]:
    with socket.create_server(("127.0.0.1", 0)) as server:
        yield server.getsockname()[1]


async def set_upstream(feature: ProxyOperations, server: str) -> str:
    shown: ProxyUpstream = await feature.set_upstream(ProxyUpstreamUpdateRequest(server=server))
    return shown.model_dump_json()


async def test_the_password_of_an_upstream_is_told_to_nobody(feature: ProxyOperations, proxy: ForwardProxy, haproxy: Told) -> None:
    told = [await set_upstream(feature, "user:s3cret@proxy.example:3128"), str(await feature.get_upstream())]
    told += [str(await feature.health()), (await ProxyPac(proxy).proxy_pac()).body.decode()]

    assert "s3cret" not in "".join(told)
    assert told[0] == '{"addr":"proxy.example:3128","username":"user","password":null}'
    assert haproxy.told


async def test_an_upstream_that_is_none_is_not_repeated(feature: ProxyOperations) -> None:
    with pytest.raises(InvalidArgument, match="server must be") as refused:
        await set_upstream(feature, "user:s3cret@")
    assert "s3cret" not in str(refused.value)


async def test_an_upstream_is_removed(feature: ProxyOperations) -> None:
    await set_upstream(feature, "proxy.example:3128")
    await feature.remove_upstream()

    assert await feature.get_upstream() is None


async def test_mappings_are_added_replaced_and_removed(feature: ProxyOperations) -> None:
    added = await feature.add_mapping(ProxyMappingAddRequest(source="api.my.app/v1/*", target=":3000"))
    await feature.add_mapping(ProxyMappingAddRequest(source="api.my.app/v1/*", target=":3001/x/"))

    assert (added.source_host, added.source_path, added.target) == ("api.my.app", "/v1/", "127.0.0.1:3000")
    assert [each.target for each in await feature.list_mappings()] == ["127.0.0.1:3001/x/"]
    await feature.remove_mapping(MappingRef(source="api.my.app/v1/*"))
    assert await feature.list_mappings() == []
    with pytest.raises(NotFound):
        await feature.remove_mapping(MappingRef(source="api.my.app/v1/*"))


@pytest.mark.parametrize(("source", "target"), [("a b", ":1"), ("a", "b")])
async def test_what_is_no_mapping_is_refused(feature: ProxyOperations, source: str, target: str) -> None:
    with pytest.raises(InvalidArgument):
        await feature.add_mapping(ProxyMappingAddRequest(source=source, target=target))


async def test_exclusions_are_added_once_and_removed(feature: ProxyOperations) -> None:
    for pattern in ("*.Corp.example", "*.corp.example", "10.1.2.3/8"):
        await feature.add_exclude(ProxyBypassRequest(pattern=pattern))

    assert await feature.list_excludes() == ["*.corp.example", "10.0.0.0/8"]
    assert (await feature.remove_exclude(ProxyBypassRequest(pattern="10.0.0.0/8"))).data == ["*.corp.example"]
    with pytest.raises(NotFound):
        await feature.remove_exclude(ProxyBypassRequest(pattern="10.0.0.0/8"))
    with pytest.raises(InvalidArgument):
        await feature.add_exclude(ProxyBypassRequest(pattern="a b"))


async def test_there_is_a_limit_to_them(feature: ProxyOperations, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MAX_ENTRIES", 1)
    await feature.add_exclude(ProxyBypassRequest(pattern="a"))

    with pytest.raises(ResourceExhausted):
        await feature.add_exclude(ProxyBypassRequest(pattern="b"))


async def diagnose(feature: ProxyOperations, url: str) -> ProxyDiagnoseResult:
    found: ProxyDiagnoseResult = await feature.diagnose(DiagnoseRequest(url=url))
    return found


async def test_where_a_request_goes_is_told(feature: ProxyOperations, port: int) -> None:
    await set_upstream(feature, f"user:s3cret@127.0.0.1:{port}")
    await feature.add_mapping(ProxyMappingAddRequest(source="my.app/v1/", target=f":{port}/x/"))
    await feature.add_exclude(ProxyBypassRequest(pattern="127.0.0.2"))
    upstream = await diagnose(feature, "https://example.com/x")
    mapped = await diagnose(feature, "http://my.app/v1/y")
    direct = await diagnose(feature, "http://127.0.0.2:1/")

    assert (upstream.route, upstream.resolved_target, upstream.target_reachable) == ("upstream", f"127.0.0.1:{port}", True)
    assert (mapped.route, mapped.resolved_target, mapped.target_reachable) == ("mapping", f"127.0.0.1:{port}/x/", True)
    assert mapped.matched_mapping
    assert mapped.matched_mapping.source == "my.app/v1/"
    assert (direct.route, direct.resolved_target, direct.target_reachable) == ("direct", "127.0.0.2:1", False)
    assert "s3cret" not in f"{upstream}{mapped}{direct}"


@pytest.mark.parametrize("url", ["ftp://a/", "http://", "http://a:x/", "http://[", "://"])
async def test_what_is_no_address_goes_nowhere(feature: ProxyOperations, url: str) -> None:
    with pytest.raises(InvalidArgument):
        await diagnose(feature, url)


@pytest.mark.parametrize("url", ["http://a\0b/", f"http://{'x' * 300}/", "http://-1/"])
async def test_a_host_that_cannot_be_is_not_reached(feature: ProxyOperations, url: str) -> None:
    assert not (await diagnose(feature, url)).target_reachable


async def test_a_proxy_that_does_other_than_it_was_told_is_not_healthy(feature: ProxyOperations, haproxy: Told) -> None:
    await set_upstream(feature, "proxy.example:3128")
    haproxy.told.append("something else")
    health = await feature.health()

    assert (health.healthy, health.gost_alive, health.config_consistent, len(health.inconsistencies)) == (False, True, False, 1)


async def test_in_a_box_a_loopback_address_is_the_boxes(proxy: ForwardProxy, port: int, tmp_path: Path) -> None:
    feature = ProxyOperations(proxy, ComponentSockets({}), Ports((), {os.geteuid()}, box=lambda: str(tmp_path)))

    assert not (await diagnose(feature, f"http://127.0.0.1:{port}/")).target_reachable
    assert (await diagnose(ProxyOperations(proxy, ComponentSockets({})), f"http://127.0.0.1:{port}/")).target_reachable
