import os
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from sandbox_server.core.errors import InvalidArgument
from sandbox_server.drivers.spawn import confined_program
from sandbox_server.drivers.spawn.process import Processes

if TYPE_CHECKING:
    from tests.conftest import SpawnerDaemon

pytestmark = pytest.mark.anyio


@pytest.fixture
def processes(spawner: "SpawnerDaemon") -> Processes:
    return Processes(spawner.socket)


@pytest.fixture
def document(tmp_path: Path) -> Iterator[int]:
    """A document that only root can open by its path."""
    (tmp_path / "document").write_text("content")
    fd = os.open(tmp_path / "document", os.O_RDONLY)
    yield fd
    os.close(fd)


def a_program(tmp_path: Path, text: str) -> str:
    script = tmp_path / "program.py"
    script.write_text(text)
    for path in (tmp_path, tmp_path.parent, tmp_path.parent.parent):
        path.chmod(0o755)
    return str(script)


async def test_a_program_answers_about_the_document_that_it_is_given(processes: Processes, document: int, tmp_path: Path) -> None:
    program = a_program(tmp_path, "import json, sys; print(json.dumps({'read': sys.stdin.read(), 'options': json.loads(sys.argv[1])}))")

    found = await confined_program.answer(processes, program, {"page": 2}, document, seconds=30)

    assert found == {"read": "content", "options": {"page": 2}}


async def test_a_problem_is_the_callers(processes: Processes, document: int, tmp_path: Path) -> None:
    program = a_program(tmp_path, """print('{"problem": "it is blank"}')""")

    with pytest.raises(InvalidArgument, match="it is blank"):
        await confined_program.answer(processes, program, {}, document, seconds=30)


async def test_a_program_that_takes_too_long_is_stopped(processes: Processes, document: int, tmp_path: Path) -> None:
    program = a_program(tmp_path, "import time; time.sleep(60)")

    with pytest.raises(InvalidArgument, match=r"takes more than 0\.2 s: less"):
        await confined_program.answer(processes, program, {}, document, seconds=0.2, advice=": less")


@pytest.mark.parametrize("text", ["x = bytearray(8 << 30)", "print('x' * (16 << 20))", "import os; os.abort()"])
async def test_a_program_that_needs_or_gives_too_much_is_refused(processes: Processes, document: int, tmp_path: Path, text: str) -> None:
    program = a_program(tmp_path, text)

    with pytest.raises(InvalidArgument, match="too large or too deep"):
        await confined_program.answer(processes, program, {}, document, seconds=30)
