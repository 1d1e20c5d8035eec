import os
from pathlib import Path

from sandbox_server.drivers.stats import disks


def test_a_filesystem_is_listed_once_by_the_first_path(tmp_path: Path) -> None:
    [found] = disks.snapshot([str(tmp_path), str(tmp_path.parent), "/nonexistent"])
    room = os.statvfs(tmp_path)
    assert found.path == str(tmp_path)
    assert found.total_bytes == room.f_blocks * room.f_frsize
    assert 0 < found.used_bytes <= found.total_bytes - found.free_bytes


def test_a_filesystem_without_a_table_of_inodes_says_none() -> None:
    [found] = disks.snapshot(["/proc"])
    assert (found.inode_total, found.inode_used) == (None, None)
