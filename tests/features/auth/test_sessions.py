"""A session that is ended: nothing more is done in it, and what is open ends."""

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from sandbox_server.core import Call, Caller, Event, InvalidArgument, Socket, Unauthenticated, operation, socket
from sandbox_server.core.dispatch import Dispatcher
from sandbox_server.core.operation import Operation, operations
from sandbox_server.drivers.credentials.revoked import Revoked
from sandbox_server.drivers.storage.json_file import JsonFile
from sandbox_server.features.auth import SessionGuard, SignInSessions
from tests.patience import eventually

pytestmark = pytest.mark.anyio

ADMIN = Caller("owner#1", frozenset({"admin"}), person=True)
GUEST = Caller("owner#2", frozenset({"view"}), person=True)


class Things:
    """What somebody may have open."""

    tag = "things"

    def __init__(self) -> None:
        self.open = 0

    @operation("GET /thing", scope="any")
    async def thing(self) -> None:
        """Do something."""

    @operation("GET /things", scope="any")
    async def things(self) -> AsyncIterator[Event]:
        """Follow something."""
        return self._follow()

    @socket("/things/socket", scope="any")
    async def things_socket(self, socket: Socket) -> None:
        """Talk."""
        self.open += 1
        try:
            await asyncio.Event().wait()
        finally:
            self.open -= 1

    async def _follow(self) -> AsyncIterator[Event]:
        self.open += 1
        try:
            yield Event("first", "")
            await asyncio.Event().wait()
        finally:
            self.open -= 1


class Setup:
    def __init__(self, folder: Path) -> None:
        self.expelled: list[str] = []
        self.things = Things()
        revoked = Revoked(JsonFile(str(folder / "revoked.json")), 60)
        self._dispatcher = Dispatcher([SessionGuard(revoked)])
        features = (SignInSessions(revoked, self._expel), self.things)
        self._operations: dict[str, Operation] = {each.spec.name: each for feature in features for each in operations(feature)}

    async def call(self, called: str, caller: Caller = GUEST, **fields: object) -> object:
        injected = {"socket": None} if called.endswith("socket") else {}
        return await self._dispatcher.call(self._operations[called], fields, Call(caller, "http"), injected)

    async def _expel(self, name: str) -> None:
        self.expelled.append(name)


@pytest.fixture
def setup(tmp_path: Path) -> Setup:
    return Setup(tmp_path)


async def test_whoever_was_signed_out_does_nothing_more(setup: Setup) -> None:
    await setup.call("thing")
    await setup.call("end_session", ADMIN, name=GUEST.name)
    with pytest.raises(Unauthenticated, match="ended"):
        await setup.call("thing")
    await setup.call("thing", ADMIN)
    assert setup.expelled == [GUEST.name]


async def test_what_is_open_ends(setup: Setup) -> None:
    events = await setup.call("things")
    assert isinstance(events, AsyncIterator)
    assert (await anext(events)).event == "first"
    talking = asyncio.create_task(setup.call("things_socket"))
    following = asyncio.create_task(anext(events, None))
    async with asyncio.timeout(30):
        await eventually(lambda: setup.things.open == 2)
        await setup.call("end_session", ADMIN, name=GUEST.name)
        assert await following is None
        with pytest.raises(Unauthenticated):
            await talking
    assert setup.things.open == 0


async def test_nobody_ends_their_own_session(setup: Setup) -> None:
    with pytest.raises(InvalidArgument, match="your own"):
        await setup.call("end_session", ADMIN, name=ADMIN.name)
