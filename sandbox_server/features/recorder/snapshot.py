"""Snapshots of the computer before and after a person drives: tabs, windows, files, downloads, a screenshot."""

import asyncio
import math
from collections.abc import Callable, Mapping, Sequence

from sandbox_server.core import Unavailable
from sandbox_server.drivers.devtools.downloads import Downloads
from sandbox_server.drivers.recorder.thumbnails import Thumbnails
from sandbox_server.drivers.spawn.process import Processes
from sandbox_server.drivers.x11.desktop import Desktop
from sandbox_server.features.recorder.form_fields import FieldWatch
from sandbox_server.features.recorder.receipts import ComputerSnapshot
from sandbox_server.timeouts import scaled

WIDTH = 480
"""Of a picture, in pixels."""
QUALITY = 60
FIND_SECONDS = scaled(4.0)
TICK_SECONDS = 0.01
"""By so much the times of files may lag behind the clock: the kernel takes them from its last tick."""
MAX_LISTING = 64 << 10
PATH = "/v1/recorder/thumbnails/"
_UNSEEN = ("node_modules", "__pycache__")
"""Directories whose files are nobody's own; hidden ones are not looked into either."""
_HISTORIES = (".bash_history", ".python_history", ".node_repl_history", ".lesshst", ".viminfo", ".sudo_as_admin_successful")


class ComputerSnapshots:
    """Looks at the desktop, the tabs as `tabs` gives them, the agent's files below `places`, and the downloads."""

    def __init__(
        self,
        desktop: Desktop,
        tabs: Callable[[], Mapping[str, str]],
        processes: Processes,
        places: Sequence[str],
        downloads: Downloads,
        thumbnails: Thumbnails,
        fields: FieldWatch,
        private: Callable[[], bool],
    ) -> None:
        self._desktop = desktop
        self._tabs = tabs
        self._processes = processes
        self._places = places
        self._downloads = downloads
        self._thumbnails = thumbnails
        self._fields = fields
        self._private = private

    async def fields(self, changed: Callable[[str], None]) -> None:
        """Tell the fields of forms that are changed; raises Unavailable. A browser that does not run is not started for it."""
        if self._tabs():
            await self._fields.watch(changed)

    async def look(self, name: str) -> ComputerSnapshot:
        """How it is now; the picture is not kept where it became private meanwhile."""
        tabs = dict(self._tabs())
        picture, windows = await self._picture(name), await self._windows()
        return ComputerSnapshot(tabs, windows, picture)

    async def blind(self) -> ComputerSnapshot:
        """How it is now, without a picture."""
        return ComputerSnapshot(dict(self._tabs()), await self._windows(), None)

    async def files_since(self, when: float) -> list[str]:
        """The agent's files whose state has changed since (find(1), `-newerct`), or a tick before, as the agent finds them.

        Raises DeadlineExceeded where that takes more than `FIND_SECONDS`.
        """
        since = math.floor((when - TICK_SECONDS) * 1000) / 1000
        hidden = ["-type", "d", "-name", ".?*", "-o", *_alternatives(_UNSEEN)]
        changed = ["-type", "f", "!", "(", *_alternatives(_HISTORIES), ")", "-newerct", f"@{since:.3f}"]
        found = await self._processes.run(
            ["find", *self._places, "-xdev", "-mindepth", "1", "(", *hidden, ")", "-prune", "-o", *changed, "-print0"],
            timeout=FIND_SECONDS,
            max_output=MAX_LISTING,
        )
        paths = found.stdout.split(b"\0")[:-1]  # what comes after the last is nothing, or cut short
        return sorted({path.decode("utf-8", "replace") for path in paths})

    def downloads_since(self, when: float) -> list[str]:
        """What was downloaded since: where it is, or what it is called."""
        return [each.path or each.suggested_filename for each in self._downloads.all if each.started >= when]

    async def _picture(self, name: str) -> str | None:
        width, _ = await self._desktop.screen.size()
        shot = await self._desktop.screen.shoot("jpeg", quality=QUALITY, scale=min(1.0, WIDTH / width))
        if self._private():
            return None
        await asyncio.to_thread(self._thumbnails.write, name, shot.body)
        return f"{PATH}{name}"

    async def _windows(self) -> dict[int, str] | None:
        try:
            return {window.xid: window.title or window.program for window in await self._desktop.windows.all()}
        except Unavailable:
            return None


def _alternatives(names: Sequence[str]) -> list[str]:
    return [word for name in names for word in ("-o", "-name", name)][1:]
