"""A browser and profiles that say what was asked of them."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import IO

from sandbox_server.core import Call, Caller, Conflict, NotFound
from sandbox_server.drivers.profiles.store import StoredProfile
from sandbox_server.features.profiles.profiles import HeldProfiles


class FakeOwner:
    """A browser on a profile."""

    def __init__(self, profile: str = "default") -> None:
        self.current = profile
        self.is_halted = False

    async def profile(self) -> str:
        return self.current

    async def use_profile(self, name: str) -> None:
        if name == "gone":
            raise NotFound(f"there is no profile {name!r}")
        self.current = name

    @asynccontextmanager
    async def halted(self) -> AsyncIterator[str]:
        self.is_halted = True
        yield self.current
        self.is_halted = False


class FakeStore:
    """Profiles by name; each request is in `asked`, with whether the browser was stopped then."""

    def __init__(self, owner: FakeOwner, *names: str) -> None:
        self._owner = owner
        self.names = ["default", *names]
        self.asked: list[tuple[object, ...]] = []

    def _note(self, *what: object) -> None:
        self.asked.append((*what, self._owner.is_halted))

    async def list(self) -> list[StoredProfile]:
        return [StoredProfile(name, 1.0, "156.0.0.0", 7, held=False, problem=None) for name in self.names]

    async def create(self, name: str) -> None:
        if name in self.names:
            raise Conflict(f"there is a profile {name!r}", reason="exists")
        self._note("create", name)

    async def duplicate(self, name: str, to: str) -> None:
        self._note("duplicate", name, to)

    async def delete(self, name: str) -> None:
        self._note("delete", name)

    async def pack(self, name: str, passphrase: str, file: IO[bytes]) -> None:
        self._note("pack", name, passphrase)
        file.write(b"sealed")
        file.flush()

    async def unpack(self, name: str, passphrase: str, file: IO[bytes]) -> None:
        self._note("unpack", name, passphrase, file.read())

    async def cookies(self, database: IO[bytes], file: IO[bytes]) -> int:
        self._note("cookies", database.read()[:6])
        file.write(b'[{"name": "a", "value": "1", "domain": "example.org", "path": "/", "expires": -1}]')
        file.flush()
        return 3


def held(owner: FakeOwner, store: FakeStore) -> HeldProfiles:
    """What has profiles to itself."""
    return HeldProfiles(store, owner)  # type: ignore[arg-type]


def call(*profiles: str) -> Call:
    """A call of somebody whose token names these profiles; of anybody without them."""
    return Call(Caller("someone", profiles=profiles or None), "1")
