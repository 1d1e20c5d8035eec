import asyncio
import threading
from collections import Counter

import pytest

from sandbox_server.drivers.egress.protected_addresses import Address, parse_address
from sandbox_server.egress import resolver
from sandbox_server.egress.acceptor import USER
from sandbox_server.egress.resolver import Resolver, UnresolvedName
from tests.patience import PATIENCE_SECONDS

pytestmark = pytest.mark.anyio


async def test_a_name_of_this_machine_has_its_addresses() -> None:
    found = Resolver()
    assert parse_address("127.0.0.1") in await found.resolve("localhost")
    found.close()


async def test_a_name_without_an_address_is_said_to_have_none() -> None:
    found = Resolver()
    with pytest.raises(UnresolvedName, match=r"none\.invalid has no address"):
        await found.resolve("none.invalid")
    found.close()


async def test_who_asks_at_the_same_time_shares_an_answer_which_is_used_again(monkeypatch: pytest.MonkeyPatch) -> None:
    asked, go = [], threading.Event()

    def addresses(name: str) -> tuple[Address, ...]:
        asked.append(name)
        go.wait(20)
        return (parse_address("8.8.8.8"),)

    monkeypatch.setattr(resolver, "_addresses", addresses)
    found = Resolver()
    both = [asyncio.ensure_future(found.resolve("a")) for _ in range(2)]
    await asyncio.sleep(0)
    go.set()
    await asyncio.gather(*both, found.resolve("a"))
    await found.resolve("a")
    assert asked == ["a"]
    monkeypatch.setattr(resolver, "KEPT_SECONDS", 0.0)
    for _ in range(2):
        await found.resolve("b")
    assert asked == ["a", "b", "b"]
    found.close()


async def test_an_answer_that_does_not_come_and_too_many_questions_are_errors(monkeypatch: pytest.MonkeyPatch) -> None:
    go = threading.Event()
    monkeypatch.setattr(resolver, "_addresses", lambda _: (go.wait(20), ())[1])
    monkeypatch.setattr(resolver, "SECONDS", 0.05)
    monkeypatch.setattr(resolver, "MAX_WAITING", 1)
    found = Resolver()
    with pytest.raises(UnresolvedName, match="within"):
        await found.resolve("slow")
    with pytest.raises(UnresolvedName, match="too many"):
        await found.resolve("other")
    go.set()
    found.close()


async def test_names_of_one_user_that_are_not_answered_leave_others_theirs(monkeypatch: pytest.MonkeyPatch) -> None:
    go = threading.Event()
    monkeypatch.setattr(resolver, "_addresses", lambda name: (name.startswith("slow") and go.wait(PATIENCE_SECONDS), ())[1])
    monkeypatch.setattr(resolver, "SECONDS", PATIENCE_SECONDS)
    found = Resolver()

    async def ask(user: int, name: str) -> None:
        USER.set(user)
        await found.resolve(name)

    full = resolver.WAITING_OF_ONE + resolver.THREADS_OF_ONE
    flood = [asyncio.create_task(ask(1000, f"slow-{number}")) for number in range(full)]
    flood += [asyncio.create_task(ask(0, f"slow-{number}")) for number in range(20)]
    try:
        await asyncio.wait_for(ask(991, "a"), PATIENCE_SECONDS)
        with pytest.raises(UnresolvedName, match="too many"):
            await asyncio.create_task(ask(1000, "one more"))
    finally:
        go.set()
    await asyncio.gather(*flood)
    assert (found._waiting, found._queued, found._asking) == ({}, {}, Counter())
    found.close()


async def test_what_is_kept_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(resolver, "_addresses", lambda _: ())
    monkeypatch.setattr(resolver, "MAX_KEPT", 3)
    found = Resolver()
    for number in range(10):
        await found.resolve(f"n{number}")
    assert list(found._kept) == ["n7", "n8", "n9"]
    found.close()
