from pathlib import Path
from typing import Any, get_args

import pytest

from sandbox_server.core import FileError, InvalidArgument, Reply
from sandbox_server.drivers.files.files import Files
from sandbox_server.drivers.files.ripgrep import Ripgrep
from sandbox_server.drivers.spawn.process import Processes
from sandbox_server.features.file.combined_operations import FileAction, FileOperationRequest, FileOperations
from sandbox_server.features.file.content import FileContent
from sandbox_server.features.file.file_management import FileChanges
from sandbox_server.features.file.listing import FileListing
from sandbox_server.features.file.search import FileSearch

pytestmark = pytest.mark.anyio


@pytest.fixture
def operations(files: Files, processes: Processes) -> FileOperations:
    return FileOperations(FileContent(files), FileSearch(files, Ripgrep(processes)), FileListing(files), FileChanges(files))


async def run(operations: FileOperations, action: str, path: object, **fields: object) -> dict[str, Any]:
    reply: Reply[dict[str, Any]] = await operations.run(
        FileOperationRequest.model_validate({"action": action, "path": str(path), **fields})
    )
    return reply.data


async def test_every_action_does_what_it_says(operations: FileOperations, home: Path) -> None:
    f, d = home / "d/f.txt", home / "d"
    assert (await run(operations, "mkdir", d))["created"]
    assert (await run(operations, "write", f, content="one\ntwo\n"))["bytes_written"] == 8
    assert (await run(operations, "write", f, content="dHdvCg==", encoding="base64", append=True))["size"] == 12
    assert (await run(operations, "read", f, start_line=1, end_line=2))["content"] == "two\n"
    assert (await run(operations, "replace", f, content="two", target="2"))["replaced_count"] == 2
    assert (await run(operations, "search", f, pattern="^2"))["line_numbers"] == (2, 3)
    assert (await run(operations, "grep", d, pattern="one"))["match_count"] == 1
    assert (await run(operations, "find", home, pattern="*.txt"))["files"] == (str(f),)
    assert (await run(operations, "glob", home, pattern="d/*"))["total_count"] == 1
    assert (await run(operations, "stat", f))["size"] == 8
    assert (await run(operations, "copy", f, target=f"{home}/g"))["destination"] == f"{home}/g"
    assert (await run(operations, "move", f"{home}/g", target=f"{home}/h"))["path"] == f"{home}/g"
    assert (await run(operations, "tree", home))["file_count"] == 2
    assert (await run(operations, "list", home, recursive=True, file_types=[".txt"]))["total_count"] == 1
    assert (await run(operations, "delete", d, recursive=True))["deleted"]
    assert [path.name for path in home.iterdir()] == ["h"]


async def test_every_action_is_carried_out_by_something(operations: FileOperations) -> None:
    assert set(operations._actions) == set(get_args(FileAction.__value__))


async def test_hidden_files_are_listed_only_when_asked_for(operations: FileOperations, home: Path) -> None:
    (home / ".hidden").touch()
    assert (await run(operations, "list", home))["total_count"] == 0
    assert (await run(operations, "list", home, show_hidden=True))["total_count"] == 1


@pytest.mark.parametrize(
    ("action", "missing"),
    [("write", "content"), ("replace", "content, target"), ("search", "pattern"), ("grep", "pattern"), ("copy", "target")],
)
async def test_what_an_action_needs_is_asked_for_by_the_names_of_this_operation(
    operations: FileOperations, action: str, missing: str
) -> None:
    with pytest.raises(InvalidArgument, match=f"{action} needs {missing}"):
        await run(operations, action, "/tmp/x")


async def test_a_failure_is_that_of_the_action(operations: FileOperations, home: Path) -> None:
    with pytest.raises(FileError, match="Failed to read file"):
        await run(operations, "read", home / "missing")
