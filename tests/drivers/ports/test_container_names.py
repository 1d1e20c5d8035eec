"""By which names the machines beside this one reach it."""

import socket
import threading

import pytest

from sandbox_server.drivers.ports import container_names
from sandbox_server.drivers.ports.container_names import KEPT_SECONDS, MAX_KEPT, ContainerNames, addresses_of, is_own
from tests.patience import PATIENCE_SECONDS

pytestmark = pytest.mark.anyio


class Resolver:
    """Answers, and counts the questions."""

    def __init__(self, **names: str) -> None:
        self.names = names
        self.asked: list[str] = []
        self.now = 0.0

    def __call__(self, name: str) -> set[str]:
        self.asked.append(name)
        if name not in self.names:
            raise socket.gaierror(socket.EAI_NONAME)
        return {self.names[name]}

    def clock(self) -> float:
        return self.now


@pytest.fixture
def mine(monkeypatch: pytest.MonkeyPatch) -> str:
    """An address that is this machine's."""
    monkeypatch.setattr(container_names, "is_own", lambda address: address == "172.18.0.2")
    return "172.18.0.2"


async def test_a_name_that_leads_here_is_ours_and_no_other(mine: str) -> None:
    resolver = Resolver(sandbox=mine, other="172.18.0.3", **{"rebound.evil.example": mine})
    names = ContainerNames(resolver)
    assert await names.hold("sandbox")
    for name in ("other", "nowhere", "rebound.evil.example", "", "x" * 400):
        assert not await names.hold(name), name
    assert "rebound.evil.example" not in resolver.asked, "whoever owns it says where it leads"


async def test_an_answer_is_kept_for_a_while_and_not_too_many(mine: str) -> None:
    resolver = Resolver(sandbox=mine)
    names = ContainerNames(resolver, resolver.clock)
    assert [await names.hold("sandbox") for _ in range(3)] == [True] * 3
    assert resolver.asked == ["sandbox"]
    for number in range(3 * MAX_KEPT):
        await names.hold(f"n{number}")
    assert (len(names._kept), await names.hold("sandbox")) == (MAX_KEPT, True)
    assert resolver.asked.count("sandbox") == 1, "names that somebody makes up take no place of ours"
    resolver.now += KEPT_SECONDS
    resolver.names.clear()
    assert not await names.hold("sandbox")


async def test_a_name_that_is_ours_stays_so_while_the_resolver_is_busy(mine: str, monkeypatch: pytest.MonkeyPatch) -> None:
    resolver = Resolver(sandbox=mine)
    names = ContainerNames(resolver, resolver.clock)
    assert await names.hold("sandbox")
    resolver.now += KEPT_SECONDS
    monkeypatch.setattr(container_names, "SECONDS", 0.05)
    go_on = threading.Event()
    monkeypatch.setattr(names, "_resolve", lambda _: go_on.wait(PATIENCE_SECONDS) and set())
    try:
        assert [await names.hold(name) for name in ("sandbox", "made-up")] == [True, False]
    finally:
        go_on.set()


async def test_a_resolver_that_hangs_holds_nobody_up_for_long(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(container_names, "SECONDS", 0.05)
    go_on = threading.Event()

    def hang(name: str) -> set[str]:
        go_on.wait(PATIENCE_SECONDS)
        return set()

    names = ContainerNames(hang)
    try:
        assert [await names.hold(name) for name in ("a", "b")] == [False, False]
    finally:
        go_on.set()


def test_an_address_is_own_if_it_can_be_bound() -> None:
    assert not any(is_own(address) for address in ("127.0.0.1", "::1", "0.0.0.0", "::", "192.0.2.1", "2001:db8::1", "224.0.0.1"))


def test_a_name_is_looked_up_as_it_is() -> None:
    with pytest.raises(socket.gaierror):
        addresses_of("no-such-machine-beside-this-one")
