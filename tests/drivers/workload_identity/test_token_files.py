"""Token files that stay fresh."""

import asyncio
import stat
from pathlib import Path

import pytest

from sandbox_server.core.errors import Unavailable
from sandbox_server.drivers.workload_identity import token_files
from sandbox_server.drivers.workload_identity.token_files import TokenFiles
from tests.patience import PATIENCE_SECONDS, eventually
from tests.threads import Held

pytestmark = pytest.mark.anyio


class Counter:
    """Gives another content each time; fails the first `failures` times."""

    def __init__(self, failures: int = 0) -> None:
        self.made = 0
        self._failures = failures

    def __call__(self) -> str:
        self.made += 1
        if self.made <= self._failures:
            raise Unavailable("no key yet")
        return f"token-{self.made}"


def content(path: Path) -> str:
    return path.read_text() if path.exists() else ""


async def test_files_are_there_at_once_and_the_agent_can_read_them(tmp_path: Path) -> None:
    file = tmp_path / "aws-token"
    async with TokenFiles(str(tmp_path), {"aws-token": Counter()}, 600):
        await eventually(lambda: content(file) == "token-1")
    assert stat.S_IMODE(file.stat().st_mode) == 0o644


async def test_they_are_renewed_before_the_tokens_end(tmp_path: Path) -> None:
    async with TokenFiles(str(tmp_path), {"aws-token": Counter()}, 0.02):
        await eventually(lambda: content(tmp_path / "aws-token") == "token-4")


async def test_they_are_renewed_when_what_they_say_has_changed(tmp_path: Path) -> None:
    async with TokenFiles(str(tmp_path), {"aws-token": Counter()}, 600) as files:
        await eventually(lambda: content(tmp_path / "aws-token") == "token-1")
        files.renew()
        await eventually(lambda: content(tmp_path / "aws-token") == "token-2")


async def test_a_failure_is_tried_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(token_files, "RETRY_SECONDS", 0.02)
    async with TokenFiles(str(tmp_path), {"aws-token": Counter(failures=2)}, 600):
        await eventually(lambda: content(tmp_path / "aws-token") == "token-3")


async def test_links_in_the_place_of_a_file_are_not_followed(tmp_path: Path) -> None:
    precious, file = tmp_path / "precious", tmp_path / "aws-token"
    precious.write_text("kept")
    file.symlink_to(precious)
    (tmp_path / ".aws-token.new").symlink_to(precious)
    async with TokenFiles(str(tmp_path), {"aws-token": Counter()}, 600):
        await eventually(lambda: not file.is_symlink())
    assert (precious.read_text(), file.read_text()) == ("kept", "token-1")


async def test_nothing_runs_where_there_is_nothing_to_write(tmp_path: Path) -> None:
    async with TokenFiles(str(tmp_path), {}, 600) as files:
        assert not files._tasks._running


async def test_withdrawn_files_are_gone_until_they_are_renewed(tmp_path: Path) -> None:
    file = tmp_path / "aws-token"
    async with TokenFiles(str(tmp_path), {"aws-token": Counter()}, 600) as files:
        await eventually(lambda: content(file) == "token-1")
        files.withdraw()
        assert not file.exists()
        files.renew()
        await eventually(lambda: content(file) == "token-2")


async def test_files_that_are_withdrawn_while_they_are_written_do_not_come_back(tmp_path: Path) -> None:
    held, later = Held(lambda: "token"), asyncio.Event()
    loop = asyncio.get_running_loop()

    def once() -> str:
        if held.notes:  # it was written, or not
            loop.call_soon_threadsafe(later.set)
            raise Unavailable("prepared for a snapshot")
        return str(held())

    async with TokenFiles(str(tmp_path), {"aws-token": once}, 600) as files:
        await held.begun()
        files.withdraw()
        held.release()
        files.renew()
        async with asyncio.timeout(PATIENCE_SECONDS):
            await later.wait()
        assert not (tmp_path / "aws-token").exists()
