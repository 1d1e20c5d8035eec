"""Downloads: files that the browser saves are copied to the agent's files as soon as they are complete.

The browser writes into a folder that only its user can enter. It renames a file at the end, which inotify(7) reports,
whoever began the download. The copy is made with the agent's rights and renamed into place.
"""

import asyncio
import logging
import os
import time
from collections import OrderedDict, deque
from collections.abc import Awaitable, Callable
from contextlib import suppress
from dataclasses import dataclass
from types import TracebackType
from typing import Literal, Self

from sandbox_server.core.errors import Failure, FileError
from sandbox_server.core.tasks import Tasks, in_thread
from sandbox_server.drivers.devtools.connection import Object
from sandbox_server.drivers.devtools.devtools import Devtools
from sandbox_server.drivers.files.descriptor_stream import PIECE, StagedFile
from sandbox_server.drivers.files.files import Files
from sandbox_server.drivers.files.operations import FileAccess
from sandbox_server.drivers.watches.inotify import Inotify, Mask

MAX_DOWNLOADS = 200
"""Limit of remembered downloads."""
MAX_NAMES = 1000
"""Limit of names that are tried if a file's name is taken."""
DELIVERY_SECONDS = 300.0
UNFINISHED = ".crdownload"

type AdmitDownload = Callable[[str | None, str], Awaitable[None]]
"""Takes the URL of a file, if it is known, and its name. Raises Failure for one that is not handed over."""
type State = Literal["in_progress", "completed", "canceled", "failed"]

log = logging.getLogger(__name__)


async def admitted(url: str | None, name: str) -> None:
    """Admit every file."""


@dataclass(slots=True, eq=False)
class Download:
    """One download."""

    id: str
    url: str | None
    suggested_filename: str
    started: float
    """Seconds since the epoch."""
    state: State = "in_progress"
    received: int = 0
    total: int | None = None
    """Bytes; None if the server did not say."""
    path: str | None = None
    """Its path in the agent's files, once it is there."""
    error: str | None = None
    saved_as: str | None = None
    """Its name in the browser's own folder."""
    told: bool = False
    """Whether a caller has received its outcome."""


class Downloads:
    """The browser's downloads. `folder` is where the browser saves, `target` is the agent's directory.

    `admit` decides whether a file is handed over. One that is not is deleted.
    """

    def __init__(self, devtools: Devtools, files: Files, folder: str, target: str, admit: AdmitDownload = admitted) -> None:
        self._admit = admit
        self._folder = folder
        self._target = target
        self._files = files
        self._known: deque[Download] = deque(maxlen=MAX_DOWNLOADS)
        self._delivered: OrderedDict[str, Download] = OrderedDict()
        self._begun: list[Callable[[Download], None]] = []
        self._changed = asyncio.Event()
        self._delivering = asyncio.Lock()
        self._tasks = Tasks()
        self._inotify: Inotify | None = None
        devtools.listen(self._on_event)

    async def __aenter__(self) -> Self:
        with suppress(FileNotFoundError):  # a container without a browser
            self._watch()
        return self

    async def __aexit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        if self._inotify:
            asyncio.get_running_loop().remove_reader(self._inotify.fileno())
            self._inotify.close()
        await self._tasks.close()

    def _watch(self) -> None:
        waiting = os.listdir(self._folder)  # complete files from before the watch began
        self._inotify = Inotify()
        self._inotify.add(self._folder, Mask.MOVED_TO | Mask.ONLYDIR)
        asyncio.get_running_loop().add_reader(self._inotify.fileno(), self._on_named)
        for name in waiting:
            self._deliver_soon(name)

    @property
    def all(self) -> list[Download]:
        """Return the downloads since the server started, oldest first."""
        return list(self._known)

    def on_begin(self, callback: Callable[[Download], None]) -> None:
        """Call `callback` for every download that begins."""
        self._begun.append(callback)

    async def next(self, timeout: float) -> Download:
        """Wait for a download that runs or begins to end; raises TimeoutError."""
        before = {download.id for download in self._known if download.state != "in_progress"}
        async with asyncio.timeout(timeout):
            while not (ended := [each for each in self._known if each.state != "in_progress" and each.id not in before]):
                self._changed.clear()
                await self._changed.wait()
        return ended[0]

    def _on_event(self, _: str | None, method: str, params: Object) -> None:
        if method == "Browser.downloadWillBegin":
            self._begin(Download(params["guid"], params["url"], params["suggestedFilename"], time.time()))
        elif method == "Browser.downloadProgress" and (download := self._find(params["guid"])):
            self._progress(download, params)

    def _begin(self, download: Download) -> None:
        self._known.append(download)
        for callback in self._begun:
            callback(download)

    def _progress(self, download: Download, params: Object) -> None:
        download.received = round(params["receivedBytes"])
        download.total = round(params["totalBytes"]) or None
        if params["state"] == "canceled":
            self._end(download, "canceled")
        elif params["state"] == "completed":
            download.saved_as = os.path.basename(params.get("filePath") or "") or download.suggested_filename
            if done := self._delivered.pop(download.saved_as, None):
                self._join(download, done)

    def _join(self, download: Download, done: Download) -> None:
        """Merge two records of one download: the file may be delivered before the browser reports its completion."""
        download.path, download.error = done.path, done.error
        with suppress(ValueError):
            self._known.remove(done)
        self._end(download, done.state)

    def _end(self, download: Download, state: State) -> None:
        download.state = state
        self._changed.set()

    def _find(self, number: str) -> Download | None:
        return next((download for download in self._known if download.id == number), None)

    def _on_named(self) -> None:
        assert self._inotify
        for event in self._inotify.read():
            self._deliver_soon(event.name)

    def _deliver_soon(self, name: str) -> None:
        if name and not name.endswith(UNFINISHED):
            self._tasks.start(self._deliver(name), name="delivery of a download")

    async def _deliver(self, name: str) -> None:
        download = Download(f"file:{name}:{time.monotonic_ns()}", None, name, time.time())
        source = os.path.join(self._folder, name)
        try:
            await self._admitted(source, name)
            async with self._delivering:
                download.path = await self._hand_over(source, name)
        except (Failure, OSError) as error:
            log.warning("a download cannot be handed to the agent: %s", error)
            download.error = error.message if isinstance(error, Failure) else str(error)
        known = next((each for each in self._known if each.saved_as == name and each.state == "in_progress"), None)
        download.state = "failed" if download.error else "completed"
        if known:
            self._join(known, download)
        else:
            self._keep(name, download)

    def _keep(self, name: str, download: Download) -> None:
        """Keep a file that was delivered before the browser reported its completion."""
        self._delivered[name] = download
        while len(self._delivered) > MAX_DOWNLOADS:
            self._delivered.popitem(last=False)
        self._known.append(download)
        self._changed.set()

    async def _admitted(self, source: str, name: str) -> None:
        """Return if the file may be handed over. Otherwise delete it, and raise."""
        begun = [each for each in self._known if each.state == "in_progress" and name in (each.saved_as, each.suggested_filename)]
        try:
            await self._admit(begun[0].url if len({each.url for each in begun}) == 1 else None, name)
        except Failure:
            os.unlink(source)
            raise

    async def _hand_over(self, source: str, name: str) -> str:
        opened = os.open(source, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC)
        access = self._files.access("download", timeout=DELIVERY_SECONDS)
        try:
            with await access.stage(os.path.join(self._target, name)) as staged:
                await _copy(opened, staged)
                path = await self._place(access, staged, name)
        finally:
            os.close(opened)
        os.unlink(source)
        return path

    async def _place(self, access: FileAccess, staged: StagedFile, name: str) -> str:
        """Rename the file to its name, or to a name with a number if that is taken."""
        stem, suffix = os.path.splitext(name)
        for number in range(MAX_NAMES):
            path = os.path.join(self._target, f"{stem} ({number}){suffix}" if number else name)
            try:
                await access.commit(staged, path, exclusive=True)
                return path
            except FileError as error:
                if error.error_type != "already_exists":
                    raise
        raise FileError(f"{MAX_NAMES} files have the name {name!r}", path=name, operation="download", error_type="already_exists")


async def _copy(source: int, staged: StagedFile) -> None:
    while piece := await in_thread(os.read, source, PIECE):
        await staged.write(piece)
    await staged.flush()
