"""A profile as Chromium leaves it, in small."""

import os
import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

from sandbox_server.drivers.profiles import tree

VERSION = "156.0.8078.108"


def make_profile(folder: Path, version: str = VERSION) -> Path:
    """Write one: preferences, a database of cookies, a cache, and the links of a Chromium that runs."""
    for below in ("Default/Network", "Default/Cache", "Default/Local Storage/leveldb"):
        (folder / below).mkdir(parents=True)
    (folder / "Last Version").write_text(version)
    (folder / "Local State").write_text("{}")
    (folder / "Default/Preferences").write_text('{"profile": {}}')
    (folder / "Default/Cache/data_0").write_bytes(b"cached")
    (folder / "Default/Local Storage/leveldb/000003.log").write_bytes(b"item" * 1000)
    with closing(sqlite3.connect(folder / "Default/Cookies")) as opened:
        opened.execute("CREATE TABLE cookies (name TEXT)")
        opened.execute("INSERT INTO cookies VALUES ('login')")
        opened.commit()
    os.symlink("host-1", folder / "SingletonLock")
    return folder


def content(folder: Path) -> dict[str, bytes]:
    """The files below a directory by their paths."""
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file() and not path.is_symlink()}


@contextmanager
def opened(folder: Path) -> Iterator[int]:
    """Open a directory."""
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        yield descriptor
    finally:
        os.close(descriptor)


def paths(folder: Path) -> list[str]:
    """The paths of the files that are copied."""
    with opened(folder) as descriptor:
        return [file.path for file in tree.files(descriptor)]
