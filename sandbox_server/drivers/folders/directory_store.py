"""A store in a directory that the agent has no path to."""

import os
import shutil
from contextlib import suppress

from sandbox_server.core.tasks import in_thread
from sandbox_server.drivers.folders.version import DamagedError, StoreAwayError

NAMES = 100


class DirectoryStore:
    """Objects as files below `root`, which is made when something is first written. A file appears whole or not at all."""

    def __init__(self, root: str) -> None:
        self._root = root

    async def first(self, prefix: str) -> list[str]:
        """Return the first names that begin with a prefix, which ends with `/`."""
        return await in_thread(self._first, prefix)

    def _first(self, prefix: str) -> list[str]:
        try:
            names = sorted(name for name in os.listdir(self._place(prefix)) if not name.startswith("."))
        except FileNotFoundError:
            return []
        except OSError as error:
            raise self._away(error) from None
        return [prefix + name for name in names[:NAMES]]

    async def read(self, key: str, limit: int) -> bytes | None:
        """Return a small object; None if there is none."""
        return await in_thread(self._read, key, limit)

    def _read(self, key: str, limit: int) -> bytes | None:
        try:
            with open(self._place(key), "rb") as file:
                content = file.read(limit + 1)
        except FileNotFoundError:
            return None
        except OSError as error:
            raise self._away(error) from None
        if len(content) > limit:
            raise DamagedError(f"{key} has more than {limit} bytes")
        return content

    async def create(self, key: str, content: bytes) -> bool:
        """Make a small object; False if there is one of that name."""
        return await in_thread(self._create, key, content)

    def _create(self, key: str, content: bytes) -> bool:
        try:
            draft = self._draft(key)
            with open(draft, "wb") as file:
                file.write(content)
                file.flush()
                os.fsync(file.fileno())
            try:
                os.link(draft, self._place(key))  # unlike a rename, it replaces nothing
            finally:
                os.unlink(draft)
        except FileExistsError:
            return False
        except OSError as error:
            raise self._away(error) from None
        return True

    async def upload(self, key: str, path: str, digest: str) -> None:
        """Make an object of a file."""
        await in_thread(self._upload, key, path, digest)

    def _upload(self, key: str, path: str, digest: str) -> None:
        draft = ""
        try:
            draft = self._draft(key)
            shutil.copyfile(path, draft)
            with open(draft, "rb") as file:
                os.fsync(file.fileno())
            os.rename(draft, self._place(key))
        except OSError as error:
            with suppress(OSError):
                os.unlink(draft)
            raise self._away(error) from None

    async def download(self, key: str, path: str, limit: int) -> None:
        """Write an object to a new file."""
        await in_thread(self._download, key, path, limit)

    def _download(self, key: str, path: str, limit: int) -> None:
        place = self._place(key)
        try:
            if os.stat(place).st_size > limit:
                raise DamagedError(f"{key} has more than {limit} bytes")
            shutil.copyfile(place, path)
        except FileNotFoundError:
            raise DamagedError(f"{key} is missing") from None
        except OSError as error:
            raise self._away(error) from None

    def _place(self, key: str) -> str:
        return f"{self._root}/{key}"

    def _draft(self, key: str) -> str:
        folder, _, name = self._place(key).rpartition("/")
        os.makedirs(folder, mode=0o700, exist_ok=True)
        return f"{folder}/.{os.getpid()}-{name}"

    def _away(self, error: OSError) -> StoreAwayError:
        return StoreAwayError(f"the store's directory cannot be used: {error.strerror}")
