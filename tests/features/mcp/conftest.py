from collections.abc import Mapping
from typing import Any

import pytest

STATE = {"name": "mine", "kind": "stdio", "origin": "added", "state": "stopped", "hidden": False, "tools": None, "reason": None}


class FakeMcpProcess:
    """Records what it is asked."""

    def __init__(self) -> None:
        self.asked: list[tuple[Any, ...]] = []

    async def names(self, headers: Mapping[str, str], *, hidden: bool) -> list[str]:
        self.asked.append((headers["x-sandbox-caller"], hidden))
        return ["sandbox"]

    async def status(self, headers: Mapping[str, str]) -> list[dict[str, Any]]:
        return [STATE]

    async def tools(self, server: str, headers: Mapping[str, str]) -> Any:
        return {"tools": [{"name": server, "inputSchema": {"type": "object"}}]}

    async def call(self, server: str, tool: str, arguments: Any, headers: Mapping[str, str]) -> Any:
        return {"content": [{"type": "text", "text": f"{server} {tool} {arguments}"}], "isError": False}

    async def add(self, server: str, config: Any, headers: Mapping[str, str]) -> None:
        self.asked.append((server, config))

    async def remove(self, server: str, headers: Mapping[str, str]) -> None:
        self.asked.append((server,))


@pytest.fixture
def mcp_process() -> FakeMcpProcess:
    return FakeMcpProcess()
