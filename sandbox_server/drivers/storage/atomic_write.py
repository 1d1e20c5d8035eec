"""Atomic replacement of files: readers see the old content or the new, also after a crash.

Standard library only: boot and the box daemon use it.
"""

import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import BinaryIO

type Owner = tuple[int, int]
"""User id and group id."""


def replace(
    path: str | os.PathLike[str], content: str | bytes, *, mode: int = 0o600, owner: Owner | None = None, durable: bool = False
) -> None:
    """Replace a file's content, text as UTF-8; see `replacing`."""
    with replacing(path, mode=mode, owner=owner, durable=durable) as file:
        file.write(content.encode() if isinstance(content, str) else content)


@contextmanager
def replacing(path: str | os.PathLike[str], *, mode: int = 0o600, owner: Owner | None = None, durable: bool = False) -> Iterator[BinaryIO]:
    """Write a temporary file that replaces the file at the end of the block, or is removed if the block fails.

    The file gets `mode` and, as root, `owner`; nobody else can read it before that. `durable` syncs it to disk. The
    temporary file is `.NAME.new` beside the file, so only one writer may run at a time. An old one is removed, and a
    symlink in its place is not followed.
    """
    folder, name = os.path.split(os.path.abspath(path))
    draft = os.path.join(folder, f".{name}.new")
    with suppress(FileNotFoundError):
        os.unlink(draft)
    descriptor = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
    try:
        with open(descriptor, "wb") as file:
            yield file
            file.flush()
            _finish(descriptor, mode, owner, durable)
        os.rename(draft, path)
    except BaseException:
        with suppress(OSError):
            os.unlink(draft)
        raise
    if durable:
        _synchronise(folder)


def _finish(descriptor: int, mode: int, owner: Owner | None, durable: bool) -> None:
    if owner and os.geteuid() == 0:
        os.fchown(descriptor, *owner)
    os.fchmod(descriptor, mode)
    if durable:
        os.fsync(descriptor)


def _synchronise(folder: str) -> None:
    directory = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(directory)
    finally:
        os.close(directory)
