import os
from pathlib import Path

import pytest

from sandbox_server.core.errors import Conflict, TooLarge
from sandbox_server.drivers.files.files import Files
from sandbox_server.drivers.folders.agent_tree import AgentTree
from sandbox_server.drivers.folders.places import FolderLimits
from sandbox_server.drivers.folders.version import FileRecord

pytestmark = pytest.mark.anyio


async def test_regular_files_are_listed_and_all_else_is_left_out(files: Files, home: Path) -> None:
    tree = AgentTree(files, f"{home}/kept", FolderLimits(2, 100))
    assert not (await tree.read()).whole
    await tree.make()
    await files.access("write").write(f"{home}/kept/a/b", b"x")
    (home / "kept" / "link").symlink_to("/etc/passwd")
    os.mkfifo(home / "kept" / "pipe")
    found = await tree.read()
    assert (list(found.files), sorted(found.left_out), found.whole) == (["a/b"], ["link", "pipe"], True)


async def test_a_folder_above_its_limits_is_refused(files: Files, home: Path) -> None:
    for limits in (FolderLimits(0, 100), FolderLimits(5, 1)):
        await files.access("write").write(f"{home}/kept/a", b"xx")
        with pytest.raises(TooLarge):
            await AgentTree(files, f"{home}/kept", limits).read()


async def test_a_file_that_was_changed_meanwhile_is_not_replaced_or_removed(files: Files, home: Path, tmp_path: Path) -> None:
    tree = AgentTree(files, f"{home}/kept", FolderLimits(5, 100))
    await files.access("write").write(f"{home}/kept/a", b"old")
    etag = (await tree.read()).etags["a"]
    await files.access("write").write(f"{home}/kept/a", b"newer")
    (tmp_path / "source").write_bytes(b"theirs")
    record = FileRecord(6, "0" * 64)
    for seen in (etag, None):
        with pytest.raises(Conflict):
            await tree.write("a", str(tmp_path / "source"), record, seen)
    with pytest.raises(Conflict):
        await tree.remove("a", etag)
    assert (home / "kept" / "a").read_bytes() == b"newer"
