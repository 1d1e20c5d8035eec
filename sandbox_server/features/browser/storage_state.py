"""Sign-ins saved to a file: cookies, local storage and IndexedDB, in the form of Playwright's storage state."""

from typing import Annotated, Any

from pydantic import ConfigDict, Field, ValidationError

from sandbox_server.core import Model, Reply, operation
from sandbox_server.core.errors import InvalidArgument
from sandbox_server.drivers.devtools.devtools import Devtools
from sandbox_server.drivers.devtools.interception import origin_of
from sandbox_server.drivers.devtools.storage import MAX_ORIGINS, Storage, Stored
from sandbox_server.drivers.files.files import Files
from sandbox_server.features.browser.agent_files import load_json, save_json
from sandbox_server.features.browser.cookies import all_cookies, put_cookies


class SaveStateRequest(Model):
    path: str
    """Path in the agent's files. An existing file is replaced. The file signs its reader in to your sites."""


class LoadStateRequest(Model):
    path: str
    """A file from `save`, or from Playwright's `storage_state`."""


class Item(Model):
    name: str
    value: str


class ObjectStore(Model):
    """An object store of a database. Unknown keys are passed on to the browser."""

    model_config = ConfigDict(extra="allow")

    name: str
    autoIncrement: bool = False  # noqa: N815
    records: list[dict[str, Any]]


class Database(Model):
    name: str
    version: Annotated[int, Field(ge=1)]
    stores: list[ObjectStore]


class OriginState(Model):
    origin: str
    localStorage: list[Item] = Field(default_factory=list)  # noqa: N815 - Playwright's name
    indexedDB: list[Database] = Field(default_factory=list)  # noqa: N815


class SavedState(Model):
    """Playwright's storage state. Unknown keys are ignored."""

    cookies: list[dict[str, Any]] = Field(default_factory=list)
    origins: list[OriginState] = Field(default_factory=list)


class StateMoved(Model):
    path: str
    cookies: int
    """The number of cookies."""
    origins: int
    """The number of origins with local storage or a database."""


class BrowserState:
    """Saves and loads the storage state."""

    tag = "browser-state"

    def __init__(self, devtools: Devtools, storage: Storage, files: Files) -> None:
        self._devtools = devtools
        self._storage = storage
        self._files = files

    @operation("POST /v1/browser/state/save", scope="browser", operation_id="save")
    async def save(self, request: SaveStateRequest) -> Reply[StateMoved]:
        """Save all cookies, and the local storage and IndexedDB of every origin that is open or was visited since the server started.

        Values that JSON cannot represent, such as files, are left out, and the hint says so.
        """
        cookies = await all_cookies(self._devtools)
        found = await self._storage.read(await self._storage.origins())
        origins = [_origin(origin, each) for origin, each in found.items()]
        await save_json(self._files, request.path, {"cookies": cookies, "origins": origins})
        left = [f"Of {origin} were left out: {each.left}." for origin, each in found.items() if each.left]
        return Reply(StateMoved(path=request.path, cookies=len(cookies), origins=len(origins)), hint=" ".join(left) or None)

    @operation("POST /v1/browser/state/load", scope="browser", operation_id="load", acts="cdp")
    async def load(self, request: LoadStateRequest) -> StateMoved:
        """Load a file, in addition to the existing state. Pages see it when they are reloaded."""
        state = await self.add(await load_json(self._files, request.path), request.path)
        return StateMoved(path=request.path, cookies=len(state.cookies), origins=len(state.origins))

    async def add(self, document: Any, path: str) -> SavedState:
        """Add a storage state, read from a file of that name, to the browser's. Raises InvalidArgument, InvalidFields and Conflict."""
        state = _state(document, path)
        await put_cookies(self._devtools, state.cookies, ("cookies",))
        await self._storage.write({each.origin: _storage_of(each) for each in state.origins})
        return state


def _origin(origin: str, stored: Stored) -> dict[str, Any]:
    databases = {"indexedDB": stored.databases} if stored.databases else {}
    return {"origin": origin, "localStorage": stored.items, **databases}


def _storage_of(origin: OriginState) -> Stored:
    return Stored([item.model_dump() for item in origin.localStorage], [database.model_dump() for database in origin.indexedDB])


def _state(document: Any, path: str) -> SavedState:
    try:
        state = SavedState.model_validate(document)
    except ValidationError as error:
        problem = error.errors(include_input=False)[0]
        place = ".".join(map(str, problem["loc"]))
        raise InvalidArgument(f"{path} is no saved state: {place or 'the document'}: {problem['msg']}", path=path) from None
    odd = next((each.origin for each in state.origins if origin_of(each.origin) != each.origin), None)
    if odd is not None or len(state.origins) > MAX_ORIGINS:
        reason = f"{odd[:200]!r} is no origin" if odd is not None else f"it has more than {MAX_ORIGINS} origins"
        raise InvalidArgument(f"{path} is no saved state: {reason}", path=path)
    return state
