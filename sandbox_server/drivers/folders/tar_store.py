"""A store that is one compressed tar archive at a URL, read by GET and replaced by PUT.

The server has to know which state it has and to refuse to replace another: RFC 9110, 8.8.3 (ETag) and 13.1.1 (If-Match). It is seen whether
it does before anything is replaced. Only the newest version is there; older ones are there as far as the server keeps them.
"""

import os
import secrets
import shutil
from contextlib import suppress
from typing import TYPE_CHECKING

from sandbox_server.core.tasks import in_thread
from sandbox_server.drivers.folders import tar_archive
from sandbox_server.drivers.folders.http_calls import answer_of, pieces_of, save
from sandbox_server.drivers.folders.places import FolderLimits
from sandbox_server.drivers.folders.version import DamagedError, StoreAwayError, Version, blob_key, decode, number_of, version_key

if TYPE_CHECKING:
    import httpx2

DONE = (200, 201, 204)
UNCHANGED, NOT_THERE = 304, 404
OTHERWISE = (409, 412)
"""What a server answers that has another state than it was asked to replace."""
ROOM = 1 << 20


class TarStore:
    """The archive at `address`. What it holds is also in the directory `place`, which is emptied first.

    `token` is sent as `Authorization: Bearer`; it may be empty.
    """

    def __init__(self, address: str, token: str, place: str, limits: FolderLimits) -> None:
        self._address = address
        self._headers = {"accept-encoding": "identity", **({"authorization": f"Bearer {token}"} if token else {})}
        self._contents = f"{place}/contents"
        self._archive = f"{place}/archive.tar.gz"
        self._place = place
        self._limits = limits
        self._tag = ""
        """What the server calls the state that is in `place`; empty if none is."""
        self._newest = Version()
        self._uploaded: set[str] = set()
        self._ready = False
        self._conditions_seen = False

    def __repr__(self) -> str:
        return f"TarStore({self._address!r})"

    async def first(self, prefix: str) -> list[str]:
        """Return the name of the newest version, after a look at the server; no other names are told."""
        if not self._ready:
            await in_thread(self._empty)
            self._ready = True
        await self._look()
        key = version_key(self._newest.number)
        return [key] if self._newest.number and key.startswith(prefix) else []

    async def read(self, key: str, limit: int) -> bytes | None:
        """Return the newest version; None for any other name."""
        content = self._newest.encode() if key == version_key(self._newest.number) else None
        if content is not None and len(content) > limit:
            raise DamagedError(f"{key} has more than {limit} bytes")
        return content

    async def create(self, key: str, content: bytes) -> bool:
        """Replace the archive by one of this version; False if it is another one by now than was last read."""
        version = decode(content, number_of(key) or 0, max_files=self._limits.max_files, max_bytes=self._limits.max_bytes)
        draft = f"{self._place}/draft.tar.gz"
        with suppress(FileNotFoundError):
            await in_thread(os.unlink, draft)
        await in_thread(tar_archive.pack, version, self._contents, draft)
        if not self._conditions_seen:
            await self._see_conditions(self._archive if self._tag else draft)
        if not await self._put(draft, {"if-match": self._tag} if self._tag else {"if-none-match": "*"}):
            return False
        await in_thread(os.rename, draft, self._archive)
        self._newest = version
        self._uploaded.clear()
        await in_thread(self._sweep)
        return True

    async def upload(self, key: str, path: str, digest: str) -> None:
        """Have a file in the archive that is made next."""
        self._uploaded.add(digest)
        await in_thread(shutil.copyfile, path, self._content(key))

    async def download(self, key: str, path: str, limit: int) -> None:
        """Write a file of the archive to a new file."""
        source = self._content(key)
        try:
            if (await in_thread(os.stat, source)).st_size > limit:
                raise DamagedError(f"{key} has more than {limit} bytes")
            await in_thread(shutil.copyfile, source, path)
        except FileNotFoundError:
            raise DamagedError(f"{key} is missing") from None

    async def _look(self) -> None:
        """Have what the server has."""
        known = {"if-none-match": self._tag} if self._tag else {}
        async with answer_of("GET", self._address, self._headers | known) as answer:
            if answer.status_code == UNCHANGED and self._tag:
                return
            if answer.status_code == NOT_THERE:
                self._tag, self._newest = "", Version()
                return
            _check(answer)
            tag = _tag(answer)
            draft = f"{self._place}/read.tar.gz"
            with suppress(FileNotFoundError):
                await in_thread(os.unlink, draft)
            await save(answer, draft, tar_archive.bytes_of(self._limits) + ROOM, "the store's archive")
        if not tag:
            raise StoreAwayError("the store's server tells no ETag, so that two computers could replace each other's files")
        self._newest = await in_thread(self._unpack, draft, tag)
        self._tag = tag
        await in_thread(self._sweep)

    async def _see_conditions(self, path: str) -> None:
        """Ask to replace a state that the server cannot have, by what it has, or by what is to be there anyway.

        Raises StoreAwayError where it does not refuse that.
        """
        if await self._put(path, {"if-match": f'"{secrets.token_hex(16)}"'}, missing=True):
            self._tag = ""
            raise StoreAwayError("the store's server passes over If-Match, so that two computers would replace each other's files")
        self._conditions_seen = True

    async def _put(self, path: str, condition: dict[str, str], *, missing: bool = False) -> bool:
        with await in_thread(open, path, "rb") as file:
            told = {"content-length": str(file.seek(0, 2)), "content-type": "application/gzip"}
            file.seek(0)
            async with answer_of("PUT", self._address, self._headers | told | condition, pieces_of(file)) as answer:
                if answer.status_code in OTHERWISE or (missing and answer.status_code == NOT_THERE):
                    return False
                _check(answer)
                self._tag = _tag(answer)
                return True

    def _empty(self) -> None:
        shutil.rmtree(self._place, ignore_errors=True)
        os.makedirs(self._contents, mode=0o700)

    def _unpack(self, path: str, tag: str) -> Version:
        with open(path, "rb") as file:
            version = tar_archive.unpack(file, self._contents, self._limits, tag)
        os.rename(path, self._archive)
        return version

    def _sweep(self) -> None:
        """Remove what neither the archive nor the next one needs."""
        needed = {record.digest for record in self._newest.files.values()} | self._uploaded
        for name in os.listdir(self._contents):
            if name not in needed:
                os.unlink(f"{self._contents}/{name}")

    def _content(self, key: str) -> str:
        digest = key.removeprefix(blob_key(""))
        if not (len(digest) == 64 and digest.isascii() and digest.isalnum()):
            raise DamagedError(f"{key} is the name of no content")
        return f"{self._contents}/{digest}"


def _check(answer: "httpx2.Response") -> None:
    if answer.status_code not in DONE:
        raise StoreAwayError(f"the store answered {answer.status_code}")


def _tag(answer: "httpx2.Response") -> str:
    """The strong tag of the state that an answer is about; empty if it tells none."""
    tag = str(answer.headers.get("etag", ""))
    return tag if tag.startswith('"') and tag.endswith('"') and len(tag) <= ROOM else ""
