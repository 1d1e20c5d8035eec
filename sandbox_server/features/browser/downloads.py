"""The browser's downloads."""

from typing import Literal

from sandbox_server.core import Model, operation
from sandbox_server.drivers.devtools.devtools import Devtools
from sandbox_server.drivers.devtools.downloads import Download, Downloads
from sandbox_server.drivers.devtools.har import moment


class DownloadState(Model):
    suggested_filename: str
    url: str | None
    """Null for a download that began while the browser was not observed."""
    state: Literal["in_progress", "completed", "canceled", "failed"]
    path: str | None
    """Path in the agent's files, once it is there."""
    received_bytes: int
    total_bytes: int | None
    """Null if the server did not say."""
    started: str
    """Start time in ISO 8601."""
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
        """List the browser's downloads and the paths of their files, oldest first."""
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
