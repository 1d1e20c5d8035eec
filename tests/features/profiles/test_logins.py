"""Logins of another browser."""

import json
from pathlib import Path
from typing import Any

import pytest

from sandbox_server.core import Conflict, InvalidArgument, PermissionDenied
from sandbox_server.features.browser.storage_state import SavedState
from sandbox_server.features.profiles.logins import Logins
from sandbox_server.features.profiles.profiles import ProfileRef
from tests.features.profiles.fakes import FakeOwner, FakeStore, call, held
from tests.features.profiles.test_archives import FakePart, FakeUpload

pytestmark = pytest.mark.anyio
HERE = ProfileRef(name="default")


def cookie(name: str, expires: float = -1) -> dict[str, Any]:
    return {"name": name, "value": "1", "domain": "example.org", "path": "/", "expires": expires}


class Made:
    """The operation, on a browser that refuses cookies called `bad`."""

    def __init__(self, spool: Path) -> None:
        self.taken: list[str] = []
        self.owner = FakeOwner()
        self.store = FakeStore(self.owner)
        self.logins = Logins(held(self.owner, self.store), self._add, str(spool))

    async def _add(self, document: Any, _: str) -> SavedState:
        state = SavedState.model_validate(document)
        if any(each["name"] == "bad" for each in state.cookies):
            raise InvalidArgument("the browser rejected these cookies")
        self.taken += [each["name"] for each in state.cookies]
        return state

    async def bring(self, content: bytes | object, profile: ProfileRef = HERE, *named: str) -> tuple[int, int, int]:
        """Import a file; the cookies, origins and what was left out."""
        body = content if isinstance(content, bytes) else json.dumps(content).encode()
        done = (await self.logins.import_logins(profile, FakeUpload(FakePart("file", body)), call(*named))).data
        return done.cookies, done.origins, done.left_out


@pytest.fixture
def made(tmp_path: Path) -> Made:
    return Made(tmp_path)


async def test_a_storage_state_comes_in_with_its_origins(made: Made) -> None:
    origins = [{"origin": "https://example.org", "localStorage": [{"name": "a", "value": "b"}]}]
    assert await made.bring({"cookies": [cookie("a")], "origins": origins}) == (1, 1, 0)
    assert made.taken == ["a"]


async def test_a_database_is_read_by_the_worker(made: Made) -> None:
    assert await made.bring(b"SQLite format 3\0...") == (1, 0, 3)
    assert made.store.asked == [("cookies", b"SQLite", False)]


async def test_a_cookie_that_is_refused_or_over_keeps_no_other_out(made: Made) -> None:
    given = [cookie("a"), cookie("bad"), cookie("b"), cookie("old", 1000.0), cookie("c"), cookie("bad")]
    assert await made.bring({"cookies": given}) == (3, 0, 3)
    assert made.taken == ["a", "b", "c"]


@pytest.mark.parametrize("content", [b"", b"nothing", b"[]", b"[" * 100_000, b"\xff\xfe"])
async def test_another_file_is_refused(made: Made, content: bytes) -> None:
    with pytest.raises(InvalidArgument, match="neither"):
        await made.bring(content)


async def test_it_goes_into_the_profile_in_use_that_the_token_names(made: Made) -> None:
    with pytest.raises(Conflict) as caught:
        await made.bring({"cookies": []}, ProfileRef(name="mail"))
    assert caught.value.details["reason"] == "not_in_use"
    with pytest.raises(PermissionDenied):
        await made.bring({"cookies": []}, HERE, "work")
