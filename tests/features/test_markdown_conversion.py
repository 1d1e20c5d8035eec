import tempfile
from collections.abc import AsyncIterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from sandbox_server.core.errors import FileError, InvalidArgument
from sandbox_server.drivers.documents.markdown import Conversion, Known
from sandbox_server.drivers.documents.web_markdown import Fetched, Web
from sandbox_server.drivers.files.files import Files
from sandbox_server.drivers.spawn.process import Processes
from sandbox_server.features.markdown_conversion import MarkdownConversion, UtilConvertToMarkdownRequest

if TYPE_CHECKING:
    from tests.conftest import FileWorkers, SpawnerDaemon

pytestmark = pytest.mark.anyio


class OnePage(Web):
    """A web in which every address is one page."""

    def __init__(self) -> None:
        self.asked: list[str] = []

    async def fetch(self, url: str) -> Fetched:
        self.asked.append(url)
        file = tempfile.TemporaryFile()  # noqa: SIM115 - the caller closes it
        file.write(b"<h1>On the web</h1>")
        file.seek(0)
        return Fetched(file, Known("text/html", url=url))


@pytest.fixture
def web() -> OnePage:
    return OnePage()


@pytest.fixture
async def util(spawner: "SpawnerDaemon", workers: "FileWorkers", web: OnePage, tmp_path: Path) -> AsyncIterator[MarkdownConversion]:
    async with Files(workers, home=str(spawner.workspace)) as files:
        yield MarkdownConversion(Conversion(Processes(spawner.socket)), web, files, str(tmp_path))


async def markdown(util: MarkdownConversion, uri: str) -> str:
    text: str = await util.convert_to_markdown(UtilConvertToMarkdownRequest(uri=uri))
    return text.strip()


async def test_a_page_of_the_web_is_fetched(util: MarkdownConversion, web: OnePage) -> None:
    assert await markdown(util, "HTTPS://example.com/x") == "# On the web"
    assert web.asked == ["HTTPS://example.com/x"]


async def test_a_file_is_read_as_the_agent(util: MarkdownConversion, spawner: "SpawnerDaemon") -> None:
    (spawner.workspace / "a page.html").write_text("<h1>On disk</h1>")

    assert await markdown(util, f"file://{spawner.workspace}/a%20page.html") == "# On disk"
    assert await markdown(util, f"file://localhost{spawner.workspace}/a%20page.html") == "# On disk"


async def test_a_file_that_is_missing_is_named(util: MarkdownConversion) -> None:
    with pytest.raises(FileError, match="/no/such/file") as failed:
        await markdown(util, "file:///no/such/file")
    assert failed.value.http_status == 404


@pytest.mark.parametrize(
    ("uri", "text"),
    [
        ("data:text/html,<h1>Inline</h1>", "# Inline"),
        ("data:text/html;base64,PGgxPklubGluZTwvaDE+", "# Inline"),
        ("data:text/plain;charset=latin-1,Gr%FC%DFe", "Grüße"),
        ("data:,words%20alone", "words alone"),
    ],
)
async def test_the_address_itself_may_hold_the_document(util: MarkdownConversion, uri: str, text: str) -> None:
    assert await markdown(util, uri) == text


@pytest.mark.parametrize(
    "uri", ["ftp://x/", "never-seen", "/etc/passwd", "data:text/plain", "data:;base64,?", "file://host/x", "file:x", "file://["]
)
async def test_an_address_that_means_nothing_is_refused(util: MarkdownConversion, uri: str) -> None:
    with pytest.raises(InvalidArgument):
        await markdown(util, uri)
