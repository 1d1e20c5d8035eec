import shutil
from pathlib import Path
from typing import Any

import openpyxl
import pytest

from sandbox_server.core import Conflict, FileError
from sandbox_server.drivers.documents.text import Documents
from sandbox_server.drivers.files.files import Files
from sandbox_server.drivers.files.operations import FileAccess
from sandbox_server.drivers.spawn.process import Processes
from sandbox_server.features.file import editor as module
from sandbox_server.features.file.editor import StrReplaceEditorRequest, StrReplaceEditorResult, TextEditor

pytestmark = pytest.mark.anyio


@pytest.fixture
def editor(files: Files, processes: Processes) -> TextEditor:
    return TextEditor(files, Documents(processes))


async def edit(editor: TextEditor, command: str, path: Path, **fields: object) -> StrReplaceEditorResult:
    request = StrReplaceEditorRequest.model_validate({"command": command, "path": str(path), **fields})
    result: StrReplaceEditorResult = await editor.edit(request)
    return result


async def refused(editor: TextEditor, command: str, path: Path, **fields: object) -> dict[str, Any]:
    with pytest.raises(FileError) as error:
        await edit(editor, command, path, **fields)
    return error.value.data()


def put(path: Path, content: bytes) -> Path:
    path.write_bytes(content)
    shutil.chown(path, "gem", "gem")
    return path


async def test_a_file_is_created_edited_and_every_step_undone(editor: TextEditor, home: Path) -> None:
    path = home / "dir/f.py"
    created = await edit(editor, "create", path, file_text="a = 1\nb = 2\n")
    assert (created.output, created.prev_exist) == (f"File created successfully at: {path}", False)
    replaced = await edit(editor, "str_replace", path, old_str="a = 1", new_str="a = 3")
    assert (replaced.old_content, replaced.new_content) == ("a = 1\nb = 2\n", "a = 3\nb = 2\n")
    assert replaced.output.startswith(f"The file {path} has been edited. Here's the result of running `cat -n` on a snippet of {path}:\n")
    await edit(editor, "insert", path, insert_line=1, new_str="between")
    assert path.read_text() == "a = 3\nbetween\nb = 2\n"

    undone = await edit(editor, "undo_edit", path)
    assert undone.output.startswith(f"Last edit to {path} undone successfully. Here's the result of running `cat -n` on {path}:\n")
    assert path.read_text() == "a = 3\nb = 2\n"
    await edit(editor, "undo_edit", path)
    assert path.read_text() == "a = 1\nb = 2\n"
    last = await edit(editor, "undo_edit", path)
    assert (path.exists(), last.new_content) == (False, None)


async def test_there_must_be_something_to_undo(editor: TextEditor, home: Path) -> None:
    path = put(home / "f", b"x")
    assert (await refused(editor, "undo_edit", path))["error"] == f"No edit history found for {path}."


async def test_what_somebody_else_changed_is_not_undone(editor: TextEditor, home: Path) -> None:
    path = put(home / "f", b"one")
    await edit(editor, "str_replace", path, old_str="one", new_str="two")
    put(path, b"three")
    assert "would lose the change" in (await refused(editor, "undo_edit", path))["error"]
    assert path.read_bytes() == b"three"
    put(path, b"two")
    await edit(editor, "undo_edit", path)
    assert path.read_bytes() == b"one"


async def test_a_file_that_is_there_is_not_created(editor: TextEditor, home: Path) -> None:
    path = put(home / "f", b"kept")
    data = await refused(editor, "create", path, file_text="x")
    why = f"File already exists at: {path}. Cannot overwrite files using command `create`."
    assert data["error"] == data["message"] == f"Invalid `path` parameter: {path}. {why}"
    assert (data["output"], data["prev_exist"], data["path"], data["operation"]) == ("", True, str(path), "create")
    assert path.read_bytes() == b"kept"


async def test_a_missing_file_is_an_editors_error_and_a_file_error_in_one(editor: TextEditor, home: Path) -> None:
    for command, fields in (
        ("view", {}),
        ("str_replace", {"old_str": "a"}),
        ("insert", {"insert_line": 0, "new_str": "x"}),
        ("undo_edit", {}),
    ):
        data = await refused(editor, command, home / "missing", **fields)
        assert "does not exist. Please provide a valid path." in data["error"]
        assert (data["error_type"], data["errno"], data["prev_exist"]) == ("not_found", 2, False)


@pytest.mark.parametrize(
    ("command", "fields", "missing"),
    [
        ("create", {}, "file_text"),
        ("str_replace", {}, "old_str"),
        ("insert", {"insert_line": 0}, "new_str"),
        ("insert", {"new_str": "x"}, "insert_line"),
    ],
)
async def test_what_a_command_needs_must_be_given(
    editor: TextEditor, home: Path, command: str, fields: dict[str, object], missing: str
) -> None:
    path = home / "new" if command == "create" else put(home / "f", b"x")
    assert (await refused(editor, command, path, **fields))["error"] == f"Parameter `{missing}` is required for command: {command}."


async def test_a_directory_can_be_viewed_and_nothing_else(editor: TextEditor, home: Path) -> None:
    for name in ("a.txt", "sub/b.txt", "sub/deep/c.txt", ".hidden"):
        (home / name).parent.mkdir(parents=True, exist_ok=True)
        (home / name).touch()
    shown = (await edit(editor, "view", home)).output
    assert shown.splitlines()[1:6] == [f"{home}/", f"{home}/a.txt", f"{home}/sub/", f"{home}/sub/b.txt", f"{home}/sub/deep/"]
    assert "1 hidden files/directories in this directory are excluded." in shown
    assert "only the `view` command" in (await refused(editor, "insert", home, insert_line=0, new_str="x"))["error"]
    assert "`view_range` parameter is not allowed" in (await refused(editor, "view", home, view_range=[1, 2]))["error"]


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (b"one\r\ntwo\r\n", b"one\r\n2\r\nand\r\n"),
        (b"one\ntwo", b"one\n2\nand"),
        ("one\ntwo\n".encode("utf-16"), "one\n2\nand\n".encode("utf-16")),
        (b"\xef\xbb\xbfone\ntwo\n", b"\xef\xbb\xbfone\n2\nand\n"),
        (b"one\r\ntwo\n", b"one\r\n2\nand\n"),
    ],
)
async def test_an_edit_keeps_encoding_line_ends_and_the_end_of_the_file(
    editor: TextEditor, home: Path, before: bytes, after: bytes
) -> None:
    path = put(home / "f", before)
    await edit(editor, "str_replace", path, old_str="two", new_str="2\nand")
    assert path.read_bytes() == after
    await edit(editor, "undo_edit", path)
    assert path.read_bytes() == before


async def test_lines_with_returns_are_matched_as_they_are_shown(editor: TextEditor, home: Path) -> None:
    path = put(home / "f", b"one\r\ntwo\r\nthree\r\n")
    assert "\r" not in (await edit(editor, "view", path)).output
    await edit(editor, "str_replace", path, old_str="one\ntwo\n", new_str="1\n2\n")
    await edit(editor, "str_replace", path, old_str="2\r\nthree", new_str="2\r\n3")
    assert path.read_bytes() == b"1\r\n2\r\n3\r\n"


async def test_bytes_that_are_no_text_are_not_edited(editor: TextEditor, home: Path) -> None:
    path = put(home / "f", b"caf\xe9")
    data = await refused(editor, "view", path)
    assert data["error_type"] == "decode_error"
    assert (await refused(editor, "str_replace", path, old_str="c", new_str="x"))["error_type"] == "decode_error"
    assert path.read_bytes() == b"caf\xe9"


async def test_a_file_too_large_to_edit_says_so(editor: TextEditor, home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MAX_BYTES", 10)
    assert (await refused(editor, "view", put(home / "f", b"x" * 11)))["errno_name"] == "EFBIG"


async def test_an_edit_of_a_file_that_changes_meanwhile_is_a_conflict(
    editor: TextEditor, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = put(home / "f", b"one")
    read = FileAccess.read

    async def read_and_change(self: FileAccess, name: str, **options: Any) -> Any:
        result = await read(self, name, **options)
        put(path, b"other")
        return result

    monkeypatch.setattr(FileAccess, "read", read_and_change)
    with pytest.raises(Conflict):
        await edit(editor, "str_replace", path, old_str="one", new_str="two")
    assert path.read_bytes() == b"other"


async def test_a_document_is_shown_in_parts_with_what_it_has_in_all(editor: TextEditor, home: Path) -> None:
    book = openpyxl.Workbook()
    sheet = book.worksheets[0]
    sheet.append(["name", "number"])
    sheet.append(["x", 1])
    book.save(home / "book.xlsx")
    shown = await edit(editor, "view", home / "book.xlsx", row_range=[2, 2], enable_metadata=True)
    assert "     2\tx\t1" in shown.output
    assert "name" not in shown.output
    assert shown.metadata == {"file_type": "excel", "total_sheets": 1, "sheets": [{"name": "Sheet", "rows": 2, "columns": 2}]}
    assert (await edit(editor, "view", home / "book.xlsx")).metadata is None
    assert "The sheets are: Sheet." in (await refused(editor, "view", home / "book.xlsx", sheet_name="Other"))["error"]
