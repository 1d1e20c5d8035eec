"""A keeper that answers what a test told it to, and remembers what it was asked."""

from collections.abc import Sequence
from typing import Any

import pytest

from sandbox_server.core import Call, Caller
from sandbox_server.drivers.box_client import BoxClient
from sandbox_server.drivers.isolation import Isolation

CALL = Call(Caller("someone"), "r1")


class FakeBox(BoxClient):
    """Stands for the keeper."""

    def __init__(self) -> None:
        super().__init__("/nonexistent", Isolation("box", "", storage="container"))
        self.answers: dict[str, dict[str, Any]] = {"usage": {"bytes": 0, "quota": 0}, "freeze": {"processes": 3}, "thaw": {}}
        self.asked: list[tuple[str, dict[str, object]]] = []
        self.written = b""

    async def ask(self, operation: str, *, fds: Sequence[int] = (), timeout: float = 1.0, **fields: object) -> dict[str, Any]:
        """Note the request and give its answer."""
        self.asked.append((operation, fields))
        if operation == "export":
            open(fds[0], "wb", closefd=False).write(self.written)
        if operation == "import":
            self.written = open(fds[0], "rb", closefd=False).read()
        return self.answers[operation]

    def operations(self) -> list[str]:
        """What it was asked to do, in order."""
        return [name for name, _ in self.asked]


@pytest.fixture
def keeper() -> FakeBox:
    return FakeBox()
