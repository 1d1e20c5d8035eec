"""Downloads are listed with where they are."""

import pytest

from sandbox_server.drivers.devtools.downloads import Download
from sandbox_server.features.browser.downloads import DownloadList
from tests.features.browser.browsers import FakeDevtools

pytestmark = pytest.mark.anyio


class Known:
    """Two downloads."""

    def __init__(self) -> None:
        ended = Download("1", "http://a/a.txt", "a.txt", 1.0, "completed", 5, 5, "/home/gem/Downloads/a.txt")
        self.all = (ended, Download("2", "http://a/b.txt", "b.txt", 2.0))


async def test_downloads_are_listed_and_how_they_ended_is_no_news_any_more() -> None:
    known = Known()
    download, _ = await DownloadList(FakeDevtools(), known).list_downloads()  # type: ignore[arg-type] # all that is used
    assert [each.told for each in known.all] == [True, False]
    assert (download.suggested_filename, download.state, download.path) == ("a.txt", "completed", "/home/gem/Downloads/a.txt")
    assert (download.received_bytes, download.total_bytes, download.started) == (5, 5, "1970-01-01T00:00:01.000Z")
