"""Profiles as files."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from pydantic import ValidationError

from sandbox_server.core import InvalidArgument, PermissionDenied, TooLarge
from sandbox_server.core.dispatch import InvalidFields
from sandbox_server.features.profiles import archives
from sandbox_server.features.profiles.archives import ExportRequest, ProfileArchives
from tests.features.profiles.fakes import FakeOwner, FakeStore, call, held

pytestmark = pytest.mark.anyio
SECRET = "a long passphrase"


class FakePart:
    """One file of a form."""

    filename, media_type = "x.profile", "application/octet-stream"

    def __init__(self, name: str, content: bytes) -> None:
        self.name = name
        self._content = content

    async def chunks(self) -> AsyncIterator[bytes]:
        for start in range(0, len(self._content), 4):
            yield self._content[start : start + 4]


class FakeUpload:
    """A form: its files, and its fields."""

    def __init__(self, *parts: FakePart, **fields: str) -> None:
        self._parts = parts
        self._fields = fields

    async def __aiter__(self) -> AsyncIterator[FakePart]:
        for part in self._parts:
            yield part

    def field(self, name: str) -> str | None:
        return self._fields.get(name)


class Made:
    """The operations."""

    def __init__(self, spool: Path) -> None:
        self.owner = FakeOwner()
        self.store = FakeStore(self.owner, "mail")
        self.archives = ProfileArchives(held(self.owner, self.store), str(spool))


@pytest.fixture
def made(tmp_path: Path) -> Made:
    return Made(tmp_path)


def exported(name: str, passphrase: str = SECRET) -> ExportRequest:
    return ExportRequest.model_validate({"name": name, "passphrase": passphrase})


async def test_an_export_is_a_file_and_of_the_one_in_use_the_browser_is_stopped(made: Made) -> None:
    for name, stopped in (("default", True), ("mail", False)):
        content = await made.archives.export_profile(exported(name), call())
        assert b"".join([chunk async for chunk in content.read(0, content.size)]) == b"sealed"
        assert (content.size, content.filename) == (6, f"{name}.profile")
        content.close()
        assert made.store.asked[-1] == ("pack", name, SECRET, stopped)


async def test_a_short_passphrase_is_refused_and_never_shown() -> None:
    with pytest.raises(ValidationError):
        exported("mail", "short")
    assert SECRET not in repr(exported("mail"))


async def test_an_import_takes_a_form(made: Made) -> None:
    form = FakeUpload(FakePart("file", b"sealed content"), name="new", passphrase=SECRET)
    assert (await made.archives.import_profile(form, call())).name == "new"
    assert made.store.asked == [("unpack", "new", SECRET, b"sealed content", False)]


async def test_a_form_that_is_wrong_makes_nothing(made: Made, monkeypatch: pytest.MonkeyPatch) -> None:
    file = FakePart("file", b"sealed content")
    wrong: list[tuple[FakeUpload, type[Exception]]] = [
        (FakeUpload(name="new", passphrase=SECRET), InvalidFields),
        (FakeUpload(file, file, name="new", passphrase=SECRET), InvalidFields),
        (FakeUpload(FakePart("other", b""), name="new", passphrase=SECRET), InvalidFields),
        (FakeUpload(file, passphrase=SECRET), InvalidArgument),
        (FakeUpload(file, name="../new", passphrase=SECRET), InvalidArgument),
        (FakeUpload(file, name="new"), InvalidArgument),
        (FakeUpload(file, name="new", passphrase="x" * 2000), InvalidArgument),
    ]
    for form, failure in wrong:
        with pytest.raises(failure):
            await made.archives.import_profile(form, call())
    monkeypatch.setattr(archives, "MAX_SEALED", 5)
    with pytest.raises(TooLarge):
        await made.archives.import_profile(FakeUpload(file, name="new", passphrase=SECRET), call())
    assert made.store.asked == []


async def test_a_token_exports_and_imports_only_what_it_names(made: Made) -> None:
    with pytest.raises(PermissionDenied):
        await made.archives.export_profile(exported("mail"), call("work"))
    with pytest.raises(PermissionDenied):
        await made.archives.import_profile(FakeUpload(FakePart("file", b"x"), name="mail2", passphrase=SECRET), call("work"))
    assert made.store.asked == []
