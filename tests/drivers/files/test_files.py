import asyncio
import os
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

import sandbox_server
from sandbox_server.core.errors import FileError, PermissionDenied, ResourceExhausted
from sandbox_server.drivers.files import files as module
from sandbox_server.drivers.files.files import MAX_IDLE, MAX_WORKERS, Files
from sandbox_server.drivers.spawn.process import Processes
from tests.patience import PATIENCE_SECONDS, until

if TYPE_CHECKING:
    from tests.conftest import FileWorkers

pytestmark = pytest.mark.anyio


async def test_one_worker_serves_one_operation_after_another(files: Files, workers: "FileWorkers", home: Path) -> None:
    for number in range(5):
        await files.access("write").write(f"{home}/{number}", b"x")
    assert len(workers.running) == 1


async def test_operations_at_once_have_workers_of_their_own_and_few_are_kept(files: Files, workers: "FileWorkers", home: Path) -> None:
    access = files.access("list")
    await asyncio.gather(*(access.walk(str(home), limit=1) for _ in range(3 * MAX_WORKERS)))
    assert len(workers.running) <= 3 * MAX_WORKERS
    until(lambda: sum(process.runs for process in workers.running) == MAX_IDLE)


async def test_an_operation_over_its_deadline_is_stopped_and_the_next_one_works(files: Files, workers: "FileWorkers", home: Path) -> None:
    await files.access("stat").stat(str(home))
    os.kill(workers.running[0].pid, signal.SIGSTOP)
    with pytest.raises(FileError, match=r"did not end within 0\.2 s") as error:
        await files.access("read", timeout=0.2).read(f"{home}/f")
    assert error.value.error_type == "io_error"
    await files.access("stat").stat(str(home))
    assert len(workers.running) == 2


async def test_a_worker_that_died_while_idle_is_replaced_unseen(files: Files, workers: "FileWorkers", home: Path) -> None:
    await files.access("stat").stat(str(home))
    workers.running[0].kill()
    workers.running[0].wait(PATIENCE_SECONDS)
    assert (await files.access("write").write(f"{home}/f", b"x")).size == 1


async def test_a_worker_that_dies_at_work_is_an_error_that_does_not_promise_anything(
    files: Files, workers: "FileWorkers", home: Path
) -> None:
    await files.access("stat").stat(str(home))
    process = workers.running[0]
    os.kill(process.pid, signal.SIGSTOP)
    writing = asyncio.create_task(files.access("write").write(f"{home}/f", b"x"))
    await asyncio.sleep(0)
    process.kill()
    with pytest.raises(FileError, match="may be done in part") as error:
        await writing
    assert error.value.error_type == "io_error"


async def test_a_cancelled_operation_ends_its_worker(files: Files, workers: "FileWorkers", home: Path) -> None:
    await files.access("stat").stat(str(home))
    os.kill(workers.running[0].pid, signal.SIGSTOP)
    reading = asyncio.create_task(files.access("read").read(f"{home}/f"))
    await asyncio.sleep(0)
    reading.cancel()
    await asyncio.gather(reading, return_exceptions=True)
    await files.access("stat").stat(str(home))
    assert len(workers.running) == 2


async def test_more_operations_than_workers_wait_and_then_are_told_to_come_back(
    files: Files, workers: "FileWorkers", home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "BUSY_SECONDS", 0.1)
    started = [await workers.worker("agent") for _ in range(MAX_WORKERS)]
    for process in workers.running:
        os.kill(process.pid, signal.SIGSTOP)

    async def give(user: str) -> socket.socket:
        return started.pop()

    monkeypatch.setattr(workers, "worker", give)
    stuck = [asyncio.create_task(files.access("stat").stat(str(home))) for _ in range(MAX_WORKERS)]
    await asyncio.sleep(0)
    with pytest.raises(ResourceExhausted, match="are busy") as error:
        await files.access("stat").stat(str(home))
    assert error.value.retry_after == 1
    for process in workers.running:
        os.kill(process.pid, signal.SIGCONT)
    assert len(await asyncio.gather(*stuck)) == MAX_WORKERS


async def test_root_where_it_is_not_allowed_is_a_permission_error(
    files: Files, workers: "FileWorkers", monkeypatch: pytest.MonkeyPatch
) -> None:
    async def refuse(user: str) -> None:
        raise PermissionDenied("user 'root' is not allowed here")

    monkeypatch.setattr(workers, "worker", refuse)
    with pytest.raises(FileError, match="sudo is not allowed") as error:
        await files.access("read", sudo=True).read("/etc/shadow")
    assert error.value.error_type == "permission_denied"


async def test_root_reads_what_the_agent_cannot(files: Files) -> None:
    with pytest.raises(FileError):
        await files.access("read").read("/etc/shadow")
    content, _ = await files.access("read", sudo=True).read("/etc/shadow")
    assert content.startswith(b"root:")


@pytest.fixture
def real_spawner(tmp_path: Path) -> Iterator[str]:
    """The product's spawner with its file worker; gives its socket."""
    environment, path = tmp_path / "environment.json", str(tmp_path / "spawn.sock")
    environment.write_text("{}")
    root = str(Path(sandbox_server.__file__).parent.parent)
    options = ["--socket", path, "--environment", str(environment), "--client", "root"]
    command = f"from sandbox_server.drivers.spawn.main import main; main({options!r})"
    with subprocess.Popen([sys.executable, "-c", command], env={"PYTHONPATH": root}) as process:
        until(lambda: os.path.exists(path))
        yield path
        process.terminate()


async def test_workers_come_from_the_spawner_as_the_agent(real_spawner: str, home: Path) -> None:
    async with Files(Processes(real_spawner), home=str(home)) as files:
        await files.access("write").write("~/f", b"x")
        assert (home / "f").owner() == "gem"
        with pytest.raises(FileError, match="sudo is not allowed"):
            await files.access("read", sudo=True).read("~/f")
