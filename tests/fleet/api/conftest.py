"""A caller of the service."""

from collections.abc import AsyncIterator

import httpx2
import pytest
from tandem_fleet.fleet import Fleet

from tests.fleet.api.calling import client


@pytest.fixture
async def http(fleet: Fleet) -> AsyncIterator[httpx2.AsyncClient]:
    """A caller who may do everything."""
    async with client(fleet) as opened:
        yield opened
