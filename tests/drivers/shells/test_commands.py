import asyncio
import os
from collections.abc import AsyncIterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sandbox_server.core.errors import FileError, InvalidArgument, TooLarge
from sandbox_server.drivers.files.descriptor_stream import OpenFile, StagedFile
from sandbox_server.drivers.files.files import Files
from sandbox_server.drivers.files.metadata import FileStatus
from sandbox_server.drivers.files.operations import FileAccess
from sandbox_server.drivers.shells import commands
from sandbox_server.drivers.shells.commands import MAX_COMMAND, CommandFile, Recall, ShellCommand, ShellStatus
from tests.threads import Held

if TYPE_CHECKING:
    from tests.conftest import FileWorkers

LARGE = 200 << 10
"""Bytes of a command that is not written on the loop."""
text = st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"]))


@pytest.fixture
async def file(files: Files, home: Path) -> AsyncIterator[CommandFile]:
    made = CommandFile(files, str(home / "shell"))
    yield made
    made.close()


@pytest.fixture
def path(home: Path) -> Path:
    """Where the shell reads its commands."""
    return home / "shell.command"


@given(st.builds(ShellCommand, text, text, text, st.sampled_from(["follow", "keep"]), st.booleans(), text))
def test_a_command_is_read_as_it_was_given(command: ShellCommand) -> None:
    assert ShellCommand.decode(command.encode()) == command


def test_a_command_is_written_as_the_shell_reads_it() -> None:
    assert ShellCommand("t1", "ls\n", "/tmp", "keep", strict=True).encode() == b"t1\0-L\0/tmp\0strict\0ls\n\0\0"
    assert ShellCommand("t2", "ls").encode() == b"t2\0-P\0\0\0ls\0\0"
    assert ShellCommand("t3", "ls", line="fence ls").encode() == b"t3\0-P\0\0\0ls\0fence ls\0"


def test_a_directory_that_is_not_utf8_is_given_to_the_byte() -> None:
    assert b"\0/caf\xe9\0" in ShellCommand("t", "ls", "/caf\udce9").encode()


@pytest.mark.parametrize("command", [ShellCommand("t", "a\0b"), ShellCommand("t", "a", "/x\0y")])
def test_a_command_with_a_nul_is_refused(command: ShellCommand) -> None:
    with pytest.raises(InvalidArgument, match="NUL"):
        command.encode()


def test_a_command_that_is_too_long_is_refused_with_the_limit() -> None:
    with pytest.raises(TooLarge) as refused:
        ShellCommand("t", "é" * (MAX_COMMAND // 2)).encode()
    assert refused.value.details == {"limit": MAX_COMMAND}


@pytest.mark.parametrize("content", [b"", b"nonce\n", b"t\0-P\0\0\0", b"t\0-P\0\0\0a\0b\0c\0"])
def test_a_file_that_holds_no_command_is_none(content: bytes) -> None:
    assert ShellCommand.decode(content) is None


def test_a_status_is_read_as_the_shell_wrote_it() -> None:
    assert ShellStatus.decode(b"t1\x00130\0/caf\xe9\0") == ShellStatus("t1", 130, "/caf\udce9")


@pytest.mark.parametrize(
    "content",
    [b"", b"t1\0", b"t1\x000\0/tmp", b"t1\0\0/\0", b"t1\0-1\0/\0", b"t1\0x\0/\0", "t1\0²\0/\0".encode(), b"t1\0" + b"9" * 5000 + b"\0/\0"],
)
def test_a_status_that_no_shell_wrote_is_none(content: bytes) -> None:
    assert ShellStatus.decode(content) is None


@pytest.mark.parametrize(
    ("given", "begun", "ended", "running"),
    [
        ("t2", "t2", "t1", True),
        ("t2", "t2", None, True),
        ("t2", "t2", "t2", False),
        ("t2", "t1", "t1", False),
        ("t2", "", None, False),
        (None, "t1", None, False),
    ],
)
def test_a_command_runs_from_its_own_beginning_to_its_own_end(given: str | None, begun: str, ended: str | None, running: bool) -> None:
    recall = Recall(ShellCommand(given, "ls") if given else None, begun, ShellStatus(ended, 0, "/") if ended else None)
    assert recall.running is running


@pytest.mark.anyio
async def test_the_file_is_the_agents_alone_and_holds_what_it_was_made_with(file: CommandFile, path: Path) -> None:
    await file.create(b"nonce\n")
    assert path.read_bytes() == b"nonce\n"
    assert path.owner() == path.parent.owner()


@pytest.mark.anyio
@pytest.mark.parametrize("size", [1, LARGE])
async def test_each_command_replaces_the_one_before(file: CommandFile, path: Path, size: int) -> None:
    await file.create(b"nonce\n")
    for command in (ShellCommand("t1", "x" * size * 2), ShellCommand("t2", "y" * size)):
        await file.write(command)
        assert path.read_bytes() == command.encode()
        assert (await file.recall()).given == command


@pytest.mark.anyio
async def test_a_command_is_written_into_the_file_that_is_there(file: CommandFile, path: Path) -> None:
    await file.create(b"nonce\n")
    inode = path.stat().st_ino
    await file.write(ShellCommand("t1", "ls"))
    assert path.stat().st_ino == inode


@pytest.mark.anyio
async def test_a_command_for_which_no_file_is_open_makes_it(file: CommandFile) -> None:
    command = ShellCommand("t1", "ls")
    await file.write(command)
    assert (await file.recall()).given == command


@pytest.mark.anyio
async def test_a_file_that_somebody_deleted_is_made_again(file: CommandFile, path: Path) -> None:
    await file.create(b"nonce\n")
    path.unlink()
    await file.create(ShellCommand("t1", "ls").encode())
    await file.write(ShellCommand("t2", "pwd"))
    assert path.read_bytes() == ShellCommand("t2", "pwd").encode()


@pytest.mark.anyio
async def test_a_command_that_is_withdrawn_is_not_found(file: CommandFile, path: Path) -> None:
    await file.create(b"nonce\n")
    await file.write(ShellCommand("t1", "rm -r x"))
    await file.withdraw()
    assert path.read_bytes() == b""
    assert (await file.recall()).given is None


@pytest.mark.anyio
async def test_the_status_is_none_until_a_command_has_ended(file: CommandFile, home: Path) -> None:
    assert (await file.recall()).ended is None
    (home / "shell.status").write_bytes(b"t1\x007\0/tmp\0")
    assert (await file.recall()).ended == ShellStatus("t1", 7, "/tmp")


@pytest.mark.anyio
async def test_a_directory_in_the_place_of_a_file_is_no_command_and_no_status(file: CommandFile, home: Path) -> None:
    for ending in ("command", "begun", "status"):
        (home / f"shell.{ending}").mkdir()
    assert await file.recall() == Recall(None, "", None)


@pytest.mark.anyio
async def test_a_directory_that_is_gone_is_told(files: Files, home: Path) -> None:
    file = CommandFile(files, str(home / "gone" / "shell"))
    (home / "gone").write_text("a file")
    with pytest.raises(FileError):
        await file.create(b"nonce\n")


@pytest.mark.anyio
async def test_removing_deletes_both_files_and_may_be_done_twice(file: CommandFile, home: Path) -> None:
    await file.create(b"nonce\n")
    (home / "shell.status").write_bytes(b"")
    await file.remove()
    await file.remove()
    assert list(home.iterdir()) == []


@pytest.mark.anyio
async def test_closing_leaves_the_files_and_no_descriptor(file: CommandFile, path: Path) -> None:
    before = set(os.listdir("/proc/self/fd"))
    for _ in range(3):
        await file.create(b"nonce\n")
    file.close()
    file.close()
    left = {os.path.realpath(f"/proc/self/fd/{fd}") for fd in set(os.listdir("/proc/self/fd")) - before}
    assert not any(name.startswith(str(path.parent)) for name in left)
    assert path.read_bytes() == b"nonce\n"


class CopyingAccess(FileAccess):
    """A file system that cannot give a staged file a name: it makes a copy, as some of those in user space do."""

    async def commit(self, made: StagedFile | OpenFile, path: str, *, exclusive: bool = False, if_match: str | None = None) -> FileStatus:
        assert isinstance(made, StagedFile)
        await made.flush()
        content = os.pread(made.fd, 8 << 20, 0)
        return await self.write(path, content)


class CopyingFiles(Files):
    def access(self, operation: str, *, sudo: bool = False, timeout: float = 30.0) -> FileAccess:
        return CopyingAccess(self, operation, "agent", timeout)


@pytest.mark.anyio
@pytest.mark.parametrize("size", [1, LARGE])
async def test_where_a_file_is_copied_into_place_each_command_still_arrives(
    workers: "FileWorkers", home: Path, path: Path, size: int
) -> None:
    async with CopyingFiles(workers, home=str(home)) as files:
        file = CommandFile(files, str(home / "shell"))
        await file.create(b"nonce\n")
        assert path.read_bytes() == b"nonce\n"
        for command in (ShellCommand("t1", "x" * size * 2), ShellCommand("t2", "y" * size)):
            await file.write(command)
            assert path.read_bytes() == command.encode()
        await file.withdraw()
        assert path.read_bytes() == b""


@pytest.mark.anyio
async def test_a_file_that_is_closed_while_a_thread_writes_it_is_written_and_no_other(
    file: CommandFile, path: Path, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    await file.create(b"nonce\n")
    held = Held(commands._overwrite)
    monkeypatch.setattr(commands, "_overwrite", held)
    command = ShellCommand("token", "x" * LARGE)
    writing = asyncio.create_task(file.write(command))
    await held.begun()
    file.close()
    others = [os.open(home / f"other{number}", os.O_CREAT | os.O_RDWR) for number in range(20)]  # one gets the number that was free
    held.release()
    await writing
    assert [os.pread(fd, 10, 0) for fd in others] == [b""] * len(others)
    assert path.read_bytes() == command.encode()
    for fd in others:
        os.close(fd)
