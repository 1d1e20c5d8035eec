import ipaddress

import pytest

from sandbox_server.core.errors import Conflict, PermissionDenied
from sandbox_server.drivers.documents import web_reach as module
from sandbox_server.drivers.documents.web_reach import WebReach, is_public
from sandbox_server.settings.network import ALLOWED
from tests.tables import table_test

pytestmark = pytest.mark.anyio


class Agents:
    """Says that these ports are the agent's."""

    def __init__(self, *ports: int) -> None:
        self._ports = ports

    async def upstream(self, port: int) -> str:
        if port not in self._ports:
            raise PermissionDenied("not the agent's")
        return f"127.0.0.1:{port}"


@table_test(
    [
        *("127.0.0.1", "127.9.9.9", "0.0.0.0", "10.1.2.3", "172.17.0.1", "192.168.1.1", "169.254.169.254", "100.100.100.200"),
        *("168.63.129.16", "192.0.0.192", "224.0.0.1", "255.255.255.255", "198.18.0.1"),
        *("::1", "::", "fe80::1", "fd00:ec2::254", "ff02::1", "::ffff:127.0.0.1", "::ffff:169.254.169.254"),
        *("64:ff9b::a9fe:a9fe", "2002:7f00:1::1", "2002:a9fe:a9fe::1", "2001:0:7f00:1::1"),
    ]
)
def test_an_internal_address_is_not_public_in_any_disguise(address: str) -> None:
    assert not is_public(ipaddress.ip_address(address))


@pytest.mark.parametrize("address", ["1.1.1.1", "93.184.216.34", "2606:4700::1111", "::ffff:8.8.8.8", "64:ff9b::808:808"])
def test_an_address_of_the_internet_is_public(address: str) -> None:
    assert is_public(ipaddress.ip_address(address))


async def test_a_public_address_may_be_fetched_from() -> None:
    assert await WebReach(Agents()).addresses("1.1.1.1", 80) == ["1.1.1.1"]


@pytest.mark.parametrize("host", ["169.254.169.254", "10.0.0.1", "127.0.0.1", "localhost", "2130706433", "0x7f.1", "127.1", "::1"])
async def test_an_internal_host_is_refused_however_it_is_written(host: str) -> None:
    with pytest.raises(PermissionDenied, match="internal address") as refused:
        await WebReach(Agents()).addresses(host, 80)
    assert "FETCH_ALLOW" in str(refused.value.hint)


async def test_the_agents_own_ports_may_be_fetched_from() -> None:
    reach = WebReach(Agents(3000))

    assert await reach.addresses("127.0.0.1", 3000) == ["127.0.0.1"]
    with pytest.raises(PermissionDenied):
        await reach.addresses("127.0.0.1", 8080)
    with pytest.raises(PermissionDenied):
        await reach.addresses("10.0.0.1", 3000)


@pytest.mark.parametrize("entry", ["10.0.0.0/8", "10.1.2.3", "10.1.2.3:8000", "wiki.corp", "WIKI.corp:8000"])
async def test_what_a_setting_names_may_be_fetched_from(entry: str, monkeypatch: pytest.MonkeyPatch) -> None:
    resolve(monkeypatch, "10.1.2.3")

    assert await WebReach(Agents(), ALLOWED.parse(entry)).addresses("wiki.corp", 8000) == ["10.1.2.3"]


@pytest.mark.parametrize("entry", ["10.1.2.4", "10.1.2.3:80", "corp", "wiki.corp:80", "11.0.0.0/8"])
async def test_what_a_setting_does_not_name_stays_refused(entry: str, monkeypatch: pytest.MonkeyPatch) -> None:
    resolve(monkeypatch, "10.1.2.3")

    with pytest.raises(PermissionDenied):
        await WebReach(Agents(), ALLOWED.parse(entry)).addresses("wiki.corp", 8000)


async def test_a_host_with_one_internal_address_among_others_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    resolve(monkeypatch, "1.1.1.1", "169.254.169.254")

    with pytest.raises(PermissionDenied, match=r"two\.example is at an internal address$"):
        await WebReach(Agents()).addresses("two.example", 80)


@pytest.mark.parametrize("host", ["no-such-host.invalid", "a..b", "x" * 300])
async def test_a_host_without_an_address_is_said_to_have_none(host: str) -> None:
    with pytest.raises(Conflict, match="has no address"):
        await WebReach(Agents()).addresses(host, 80)


def resolve(monkeypatch: pytest.MonkeyPatch, *addresses: str) -> None:
    """Let every name stand for these addresses."""

    async def found(_: str, __: int) -> list[module.Address]:
        return [ipaddress.ip_address(address) for address in addresses]

    monkeypatch.setattr(module, "_resolve", found)
