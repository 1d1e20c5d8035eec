"""State goes into a file and comes from one; what is no state is refused."""

import json
from pathlib import Path
from typing import Any

import pytest

from sandbox_server.core.dispatch import InvalidFields
from sandbox_server.core.errors import FileError, InvalidArgument
from sandbox_server.drivers.devtools.storage import Stored
from sandbox_server.drivers.files.files import Files
from sandbox_server.features.browser.storage_state import BrowserState, LoadStateRequest, SaveStateRequest
from tests.features.browser.browsers import FakeDevtools

pytestmark = pytest.mark.anyio

ITEMS = [{"name": "key", "value": "1"}]
DATABASES = [{"name": "d", "version": 2, "stores": [{"name": "s", "keyPath": "id", "autoIncrement": False, "records": [{"value": {}}]}]}]


class FakeStorage:
    """Local storage of one origin."""

    def __init__(self) -> None:
        self.written: dict[str, Any] = {}

    async def origins(self) -> list[str]:
        return ["https://a.example", "https://empty.example"]

    async def read(self, origins: list[str]) -> dict[str, Stored]:
        return {origins[0]: Stored(ITEMS, DATABASES, "1 records")}

    async def write(self, stored: dict[str, Stored]) -> None:
        self.written |= stored


@pytest.fixture
def storage() -> FakeStorage:
    return FakeStorage()


@pytest.fixture
def devtools() -> FakeDevtools:
    made = FakeDevtools()
    made.answers["Storage.getCookies"] = {"cookies": [{"name": "a", "value": "1", "domain": "a.example", "path": "/", "session": True}]}
    return made


@pytest.fixture
def state(devtools: FakeDevtools, storage: FakeStorage, files: Files) -> BrowserState:
    return BrowserState(devtools, storage, files)  # type: ignore[arg-type] # all that is used


async def test_what_was_saved_can_be_loaded(state: BrowserState, devtools: FakeDevtools, storage: FakeStorage, home: Path) -> None:
    reply = await state.save(SaveStateRequest(path="~/new/state.json"))
    assert (reply.data.cookies, reply.data.origins, reply.hint) == (1, 1, "Of https://a.example were left out: 1 records.")
    assert (home / "new/state.json").stat().st_mode & 0o777 == 0o600
    loaded = await state.load(LoadStateRequest(path="~/new/state.json"))
    assert (loaded.cookies, loaded.origins, storage.written) == (1, 1, {"https://a.example": Stored(ITEMS, DATABASES)})
    method, params = devtools.commands[-1]
    assert (method, params["cookies"][0]["domain"]) == ("Storage.setCookies", "a.example")


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("{", "not valid JSON"),
        ("[]", "no saved state"),
        ('{"origins": [{"localStorage": []}]}', "origins.0.origin"),
        ('{"origins": [{"origin": "https://a.example/x"}]}', "no origin"),
        (json.dumps({"origins": [{"origin": f"https://{number}.example"} for number in range(101)]}), "100 origins"),
    ],
)
async def test_what_is_no_state_is_refused(state: BrowserState, devtools: FakeDevtools, home: Path, text: str, said: str) -> None:
    (home / "state.json").write_text(text)
    with pytest.raises(InvalidArgument, match=said):
        await state.load(LoadStateRequest(path="~/state.json"))
    assert devtools.commands == []


async def test_a_cookie_that_is_wrong_is_named(state: BrowserState, home: Path) -> None:
    (home / "state.json").write_text('{"cookies": [{"name": "a"}]}')
    with pytest.raises(InvalidFields) as refused:
        await state.load(LoadStateRequest(path="~/state.json"))
    assert refused.value.problems[0]["loc"] == ("cookies", 0, "value")


async def test_a_file_that_is_not_there_is_an_error_of_files(state: BrowserState) -> None:
    with pytest.raises(FileError):
        await state.load(LoadStateRequest(path="~/none.json"))
