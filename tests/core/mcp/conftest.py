from collections.abc import AsyncIterator

import pytest

from sandbox_server.core.mcp.api import Api


@pytest.fixture
async def api(api_socket: str) -> AsyncIterator[Api]:
    """A pool of connections to the sample's socket."""
    async with Api.connect(api_socket) as api:
        yield api
