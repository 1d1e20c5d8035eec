import json

from sandbox_server.composition.folders import build_folders, store_of
from sandbox_server.drivers.folders.places import FolderLimits
from sandbox_server.drivers.folders.s3_store import S3Store
from sandbox_server.drivers.folders.tar_store import TarStore
from sandbox_server.settings import FolderSettings, FoldersSettings
from tests.composition.made import first


def test_each_folder_is_synchronised_after_a_checkpoint() -> None:
    made = first(FOLDERS=json.dumps({"notes": {"path": "/notes", "store": "directory"}}))
    assert len(build_folders(made).opened) == 2
    assert len(made.work.followers) == 1


def test_without_folders_nothing_is_opened() -> None:
    assert build_folders(first()).opened == ()


def test_a_bucket_and_an_archive_have_their_stores() -> None:
    for address, kind in (("s3://bucket/x", S3Store), ("https://host/a.tar.gz", TarStore)):
        assert isinstance(store_of(FolderSettings("a", "/a", address), FoldersSettings(), "/nowhere", FolderLimits(1, 1)), kind)
