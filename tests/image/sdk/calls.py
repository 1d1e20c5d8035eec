"""What the scenarios of the SDK share: one call of a method by name, whichever client makes it, and who drives which method."""

import inspect
from collections.abc import Awaitable, Callable, Iterator
from operator import attrgetter
from typing import Any
from uuid import uuid4

import pytest
from agent_sandbox import AsyncSandbox
from agent_sandbox import Sandbox as BlockingSandbox
from agent_sandbox.core.api_error import ApiError


class Calls:
    """Calls methods of either client by name, as in `await calls("file.read_file", file="/tmp/x")`."""

    def __init__(self, client: BlockingSandbox | AsyncSandbox) -> None:
        self._client = client

    async def __call__(self, name: str, /, **arguments: Any) -> Any:
        """Call a method, and read what it streams."""
        result = attrgetter(name)(self._client)(**arguments)
        if inspect.isawaitable(result):
            return await result
        if hasattr(result, "__aiter__"):
            return b"".join([chunk async for chunk in result])
        return b"".join(result) if isinstance(result, Iterator) else result

    async def fails(self, name: str, /, **arguments: Any) -> ApiError:
        """Call a method that fails."""
        with pytest.raises(ApiError) as failed:
            await self(name, **arguments)
        return failed.value


type Scenario = Callable[[Calls], Awaitable[None]]
SCENARIOS: dict[str, Scenario] = {}


def drives(*names: str) -> Callable[[Scenario], Scenario]:
    """Register what drives these methods."""

    def register(scenario: Scenario) -> Scenario:
        SCENARIOS.update(dict.fromkeys(names, scenario))
        return scenario

    return register


def a_path(name: str = "x") -> str:
    """A path that no other test uses, as long as the directory above it is made by writing."""
    return f"/tmp/sdk-{uuid4().hex}/{name}"
