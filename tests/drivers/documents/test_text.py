import os
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import openpyxl
import pytest

from sandbox_server.core.errors import InvalidArgument
from sandbox_server.drivers.documents import document_program
from sandbox_server.drivers.documents import text as module
from sandbox_server.drivers.documents.text import Documents
from sandbox_server.drivers.spawn.process import Processes

if TYPE_CHECKING:
    from tests.conftest import SpawnerDaemon

pytestmark = pytest.mark.anyio


@pytest.fixture
def documents(spawner: "SpawnerDaemon") -> Documents:
    return Documents(Processes(spawner.socket))


@pytest.fixture
def book(tmp_path: Path) -> Iterator[int]:
    """A workbook that only root can open by its path."""
    made = openpyxl.Workbook()
    made.worksheets[0].append(["x"])
    made.save(tmp_path / "book.xlsx")
    fd = os.open(tmp_path / "book.xlsx", os.O_RDONLY)
    yield fd
    os.close(fd)


async def test_a_document_is_converted_from_a_descriptor(documents: Documents, book: int) -> None:
    shown = await documents.convert(book, {"row_range": [1, 1]})
    assert "     1\tx\n" in shown.text
    assert shown.metadata["total_sheets"] == 1


async def test_a_problem_is_the_callers(documents: Documents, book: int) -> None:
    with pytest.raises(InvalidArgument, match="row_range"):
        await documents.convert(book, {"row_range": [9, 9]})


def play(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, program: str) -> None:
    """Have another program in the place of the converter."""
    script = tmp_path / "program.py"
    script.write_text(program)
    for path in (tmp_path, tmp_path.parent, tmp_path.parent.parent):
        path.chmod(0o755)
    monkeypatch.setattr(document_program, "__file__", str(script))


async def test_a_converter_that_takes_too_long_is_stopped(
    documents: Documents, book: int, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(module, "SECONDS", 0.2)
    play(monkeypatch, tmp_path, "import time; time.sleep(60)")
    with pytest.raises(InvalidArgument, match=r"takes more than 0\.2 s: ask for a smaller part of it"):
        await documents.convert(book, {})
