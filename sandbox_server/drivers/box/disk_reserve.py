"""Room that is kept for the daemon: on a disk that the agent has filled, a checkpoint is still recorded and a box still made."""

import errno
import os
import shutil
from contextlib import suppress

BYTES = 4 << 20
FILES = 64
"""Inodes."""
FULL = (errno.ENOSPC, errno.EDQUOT)
"""How the kernel says that a disk is full."""


class Reserve:
    """A directory of files of no content that matters, on the same filesystem as what needs the room."""

    def __init__(self, folder: str) -> None:
        self._folder = folder

    @property
    def held(self) -> bool:
        """Whether the room is kept."""
        return os.path.exists(f"{self._folder}/{FILES - 1}")

    def hold(self) -> bool:
        """Keep the room where it is not kept yet; tell whether it is. It takes twice the room."""
        if self.held:
            return True
        with suppress(OSError):
            if self._has_room(2 * BYTES, 2 * FILES):
                self._make()
        return self.held

    def _make(self) -> None:
        os.makedirs(self._folder, exist_ok=True)
        for number in range(FILES):
            fd = os.open(f"{self._folder}/{number}", os.O_CREAT | os.O_WRONLY | os.O_CLOEXEC, 0o600)
            try:
                if number == 0:
                    os.posix_fallocate(fd, 0, BYTES)
            finally:
                os.close(fd)

    def release(self) -> None:
        """Give the room to whoever writes next."""
        shutil.rmtree(self._folder, ignore_errors=True)

    @property
    def roomy(self) -> bool:
        """Whether there is as much room beside what is kept."""
        return self._has_room(BYTES, FILES)

    def make_room(self) -> None:
        """Give the room where there is no other: before something is written that is to be there whatever the agent did."""
        if not self.roomy:
            self.release()

    def _has_room(self, size: int, files: int) -> bool:
        room = os.statvfs(os.path.dirname(self._folder))
        return room.f_bavail * room.f_frsize > size and (room.f_files == 0 or room.f_favail > files)
