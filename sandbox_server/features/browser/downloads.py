"""What the browser downloaded."""

from typing import Literal

from sandbox_server.core import Model, operation
from sandbox_server.drivers.devtools.devtools import Devtools
from sandbox_server.drivers.devtools.downloads import Download, Downloads
from sandbox_server.drivers.devtools.har import moment


class DownloadState(Model):
    suggested_filename: str
    url: str | None
    """Null for one that began while nobody watched the browser."""
    state: Literal["in_progress", "completed", "canceled", "failed"]
    path: str | None
    """The file, once it is among the agent's."""
    received_bytes: int
    total_bytes: int | None
    """Null where the server did not say."""
    started: str
    """When, in ISO 8601."""
    error: str | None
    """Why there is no file."""


class DownloadList:
    """Lists downloads."""

    tag = "browser-downloads"

    def __init__(self, devtools: Devtools, downloads: Downloads) -> None:
        self._devtools = devtools
        self._downloads = downloads

    @operation(
        "GET /v1/browser/downloads", scope="browser", tool="browser_get_download_list", aliases=("sandbox_browser_get_download_list",)
    )
    async def list_downloads(self) -> list[DownloadState]:
        """List the browser's downloads and where their files are, the oldest first."""
        await self._devtools.connection()
        for download in self._downloads.all:
            download.told |= download.state != "in_progress"
        return [_shown(download) for download in self._downloads.all]


def _shown(download: Download) -> DownloadState:
    return DownloadState(
        suggested_filename=download.suggested_filename,
        url=download.url,
        state=download.state,
        path=download.path,
        received_bytes=download.received,
        total_bytes=download.total,
        started=moment(download.started),
        error=download.error,
    )
