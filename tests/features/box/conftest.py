"""A daemon that answers what a test told it to, and remembers what it was asked."""

import asyncio
import os
from collections.abc import AsyncIterator, Mapping, Sequence
from typing import Any

import pytest

from sandbox_server.core import Call, Caller, Failure
from sandbox_server.drivers.box.client import BoxClient
from sandbox_server.drivers.box.isolation import Isolation
from sandbox_server.features.box.renewal import Renewal

CALL = Call(Caller("someone"), "r1")


class FakeBox(BoxClient):
    """Stands for the daemon."""

    def __init__(self) -> None:
        super().__init__("/nonexistent", Isolation("box", "", storage="container"))
        self.answers: dict[str, dict[str, Any]] = {"usage": {"bytes": 0, "quota": 0}, "freeze": {"processes": 3}, "thaw": {}}
        self.asked: list[tuple[str, dict[str, object]]] = []
        self.refusals: dict[str, Failure] = {}
        self.written = b""
        self._asked = asyncio.Condition()

    async def ask(self, operation: str, *, fds: Sequence[int] = (), timeout: float = 1.0, **fields: object) -> dict[str, Any]:
        """Note the request and give its answer."""
        self.asked.append((operation, fields))
        async with self._asked:
            self._asked.notify_all()
        if operation in self.refusals:
            raise self.refusals[operation]
        if operation == "export":
            os.write(fds[0], self.written)
        if operation == "import":
            self.written = os.read(fds[0], 1 << 20)
        return self.answers[operation]

    async def seen(self, operation: str) -> None:
        """Wait until it was asked for something."""
        async with self._asked:
            await self._asked.wait_for(lambda: operation in self.operations())

    def operations(self) -> list[str]:
        """What it was asked to do, in order."""
        return [name for name, _ in self.asked]


class FakeShells:
    """One session, `s1`, that exports what it is opened with."""

    def __init__(self) -> None:
        self.opened_with: list[Mapping[str, bytes]] = []

    async def note(self) -> Mapping[str, bytes]:
        """What the session exports."""
        return {"s1": b"declare -x A=1"}

    def reopen(self, noted: Mapping[str, bytes]) -> list[str]:
        """Open it again."""
        self.opened_with.append(noted)
        return ["s1"]


@pytest.fixture
def daemon() -> FakeBox:
    return FakeBox()


@pytest.fixture
def shells() -> FakeShells:
    return FakeShells()


@pytest.fixture
async def renewal(daemon: FakeBox, shells: FakeShells) -> AsyncIterator[Renewal]:
    async with Renewal(daemon, shells) as opened:
        yield opened
