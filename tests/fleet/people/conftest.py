"""A wall over stub sandboxes."""

from collections.abc import AsyncIterator

import pytest
from tandem_fleet.people.sandbox_calls import SandboxCalls
from tandem_fleet.people.wall import Wall
from tandem_fleet.signing_key import SigningKey
from tandem_fleet.store.database import Database
from tandem_fleet.store.people import PeopleStore
from tandem_fleet.store.sandboxes import SandboxStore

from tests.fleet.people.sandboxes import Sandboxes
from tests.fleet.stub_sandbox import StubSandbox, serving


@pytest.fixture
async def stub() -> AsyncIterator[StubSandbox]:
    """One stub."""
    async with serving(StubSandbox()) as served:
        yield served


@pytest.fixture
async def calls(tmp_path: object) -> AsyncIterator[SandboxCalls]:
    """Calls with a key of these tests."""
    made = SandboxCalls(SigningKey.kept(tmp_path / "key.pem"))  # type: ignore[operator] # a path
    yield made
    await made.close()


@pytest.fixture
def people(database: Database) -> PeopleStore:
    """The people in the store."""
    return PeopleStore(database)


@pytest.fixture
def sandboxes(database: Database) -> Sandboxes:
    """Sandboxes in the store, without an engine."""
    return Sandboxes(SandboxStore(database))


@pytest.fixture
async def wall(sandboxes: Sandboxes, people: PeopleStore, calls: SandboxCalls) -> AsyncIterator[Wall]:
    """A wall of them."""
    made = Wall(sandboxes.store, people, calls)
    yield made
    await made.close()
