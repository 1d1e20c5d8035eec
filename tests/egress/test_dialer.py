import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from sandbox_server.drivers.egress.policy import Destination, EgressAction, EgressDecision
from sandbox_server.drivers.egress.protected_addresses import Address, parse_address
from sandbox_server.drivers.egress.upstream import Upstream
from sandbox_server.egress import dialer
from sandbox_server.egress.dialer import Dialer, DialFailed, DialRefused, is_own
from sandbox_server.egress.resolver import Resolver
from tests.egress_namespaces import NetworkBox

pytestmark = pytest.mark.anyio
DENIED = EgressDecision(EgressAction.DENY, "rule")


class _Names(Resolver):
    """A resolver with answers of its own."""

    def __init__(self, *addresses: str) -> None:
        super().__init__()
        self._addresses = tuple(map(parse_address, addresses))

    async def resolve(self, name: str) -> tuple[Address, ...]:
        return self._addresses


@pytest.fixture
async def port() -> AsyncIterator[int]:
    """A server that accepts on 127.0.9.1."""
    server = await asyncio.start_server(lambda _, writer: writer.close(), "127.0.9.1", 0)
    yield server.sockets[0].getsockname()[1]
    server.close()


def test_own_addresses_are_known_by_the_kernels_choice(tmp_path: Path) -> None:
    box = NetworkBox(tmp_path)
    script = """
from sandbox_server.drivers.egress.protected_addresses import parse_address
from sandbox_server.egress.dialer import is_own
print([is_own(parse_address(address)) for address in ("198.18.0.1", "fd53::1", "198.18.0.2", "8.8.8.8", "fd53::2")])
"""
    assert box.python(script) == "[True, True, False, False, False]"
    box.close()


def test_others_addresses_are_not_own() -> None:
    assert not is_own(parse_address("8.8.8.8"))
    assert not is_own(parse_address("2001:4860:4860::8888"))


async def test_the_first_address_that_accepts_is_connected_to(port: int) -> None:
    sock, address = await Dialer(_Names("127.0.9.2", "127.0.9.1")).connect(Destination(port, "a"), lambda _: None)
    assert str(address) == "127.0.9.1"
    assert sock.getpeername() == ("127.0.9.1", port)
    sock.close()


async def test_an_address_that_is_refused_is_not_connected_to(port: int) -> None:
    refusing = Dialer(_Names("127.0.9.1"))
    with pytest.raises(DialRefused) as refused:
        await refusing.connect(Destination(port, "a"), lambda _: DENIED)
    assert refused.value.decision is DENIED
    with pytest.raises(DialRefused):
        await refusing.connect(Destination(port, address=parse_address("127.0.9.1")), lambda _: DENIED)


@pytest.mark.parametrize("addresses", [(), ("127.0.9.3",)])
async def test_nobody_there_is_a_failure(addresses: tuple[str, ...], port: int) -> None:
    with pytest.raises(DialFailed, match="port"):
        await Dialer(_Names(*addresses)).connect(Destination(port, "a"), lambda _: None)


async def test_who_does_not_answer_in_time_is_a_failure(monkeypatch: pytest.MonkeyPatch) -> None:
    async def forever(*_: object) -> None:
        await asyncio.Event().wait()

    monkeypatch.setattr(dialer, "_connected", forever)
    monkeypatch.setattr(dialer, "CONNECT_SECONDS", 0.05)
    with pytest.raises(DialFailed, match="no answer"):
        await Dialer(_Names("127.0.9.1")).connect(Destination(1, "a"), lambda _: None)
    monkeypatch.setattr(dialer, "TOTAL_SECONDS", 0.01)
    with pytest.raises(DialFailed, match="did not answer"):
        await Dialer(_Names("127.0.9.1")).connect(Destination(1, "a"), lambda _: None)


async def test_a_proxy_that_hangs_up_is_a_failure_without_its_password(port: int) -> None:
    upstream = Upstream("socks5", "proxy.example", port, "user", "secret")
    with pytest.raises(DialFailed, match="upstream proxy") as failed:
        await Dialer(_Names("127.0.9.1")).connect_through(upstream, Destination(443, "a"))
    assert "secret" not in str(failed.value)
