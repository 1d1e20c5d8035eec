import pytest

from sandbox_server.core import NotFound
from sandbox_server.features.folders.operations import FolderRef, Folders
from tests.features.folders.test_folder_sync import Fake, made

pytestmark = pytest.mark.anyio


async def test_a_folder_is_listed_with_how_it_went() -> None:
    folders = Folders({"notes": made(Fake())})
    assert (await folders.list_folders()).folders[0].state == "new"
    assert (await folders.sync_folder(FolderRef(name="notes"))).version == 1
    [shown] = (await folders.list_folders()).folders
    assert (shown.state, shown.synchronised, shown.error) == ("synchronised", 7.0, None)


async def test_an_unknown_folder_is_named() -> None:
    with pytest.raises(NotFound, match="'other'"):
        await Folders({}).sync_folder(FolderRef(name="other"))
