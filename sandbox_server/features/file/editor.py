"""The editor tool `str_replace_editor`: view, create, replace, insert, undo."""

import os
from collections.abc import Callable
from typing import Any, Literal

from sandbox_server.core import FileError, InvalidArgument, Model, operation
from sandbox_server.core.operation import MAX_FILE_BODY
from sandbox_server.drivers.documents.text import Documents
from sandbox_server.drivers.files.files import Files
from sandbox_server.drivers.files.metadata import FileStatus
from sandbox_server.drivers.files.operations import FileAccess
from sandbox_server.features.file import edits
from sandbox_server.features.file.edits import BadEdit, Edited
from sandbox_server.features.file.history import History
from sandbox_server.features.file.text_encoding import DecodedText, decode

MAX_BYTES = 10 << 20
"""Limit in bytes of a file that can be edited."""
MAX_ENTRIES = 1000
"""Limit of listed entries of a directory."""
type Change = Callable[[str, Callable[[str], str]], Edited]
"""Edits text. The function converts the caller's line endings to the file's."""

DOCUMENTS = (".pdf", ".xlsx", ".xlsm", ".pptx")


class StrReplaceEditorRequest(Model):
    """The command and its file."""

    command: Literal["view", "create", "str_replace", "insert", "undo_edit"]
    """The command to run."""
    path: str
    """Absolute path of a file; for `view` also of a directory."""
    file_text: str | None = None
    """Content of the file, for `create`."""
    old_str: str | None = None
    """Text to replace, for `str_replace`: exactly as in the file, and unique unless `replace_mode` says otherwise."""
    new_str: str | None = None
    """The replacement, empty by default; for `insert`, the lines to insert."""
    insert_line: int | None = None
    """For `insert`: the line after which to insert; 0 is the beginning."""
    view_range: tuple[int, ...] = ()
    """For `view` of text: first and last line, from 1; -1 means the end."""
    replace_mode: Literal["ALL", "FIRST", "LAST"] | None = None
    """For `str_replace`: which of several occurrences to replace."""
    page_range: tuple[int, ...] | None = None
    """For `view` of a PDF: first and last page, from 1."""
    sheet_name: str | None = None
    """For `view` of an Excel workbook: the only sheet to show."""
    row_range: tuple[int, ...] | None = None
    """For `view` of an Excel workbook: first and last row, from 1."""
    slide_range: tuple[int, ...] | None = None
    """For `view` of a PowerPoint presentation: first and last slide, from 1."""
    enable_metadata: bool = False
    """For `view` of such a document: also return the number of pages, sheets or slides."""


class StrReplaceEditorResult(Model):
    """The result of the command."""

    output: str
    """The text for the agent."""
    error: str | None = None
    """Why it failed."""
    path: str
    """The requested path."""
    prev_exist: bool
    """Whether the file existed before."""
    old_content: str | None = None
    """The whole text before."""
    new_content: str | None = None
    """The whole text after; null when the file was removed."""
    metadata: dict[str, Any] | None = None
    """The size of a document."""


class EditFailed(FileError):
    """A command that failed, with the fields of a result."""

    def __init__(self, message: str, *, path: str, operation: str, exists: bool = True, cause: FileError | None = None) -> None:
        kind = cause.error_type if cause else "invalid_target"
        number, exception = (cause.errno, cause.exception_type) if cause else (None, None)
        super().__init__(message, path=path, operation=operation, error_type=kind, errno=number, exception_type=exception)
        self.hint = cause.hint if cause else None
        self._exists = exists

    def data(self) -> dict[str, object]:
        """The contract's `FileOperationError` and editor result in one."""
        return {**super().data(), "output": "", "error": self.message, "prev_exist": self._exists}


class TextEditor:
    """Edits text files and keeps an undo history."""

    tag = "file"

    def __init__(self, files: Files, documents: Documents) -> None:
        self._files = files
        self._documents = documents
        self._history = History()

    @operation(
        "POST /v1/file/str_replace_editor",
        scope="files",
        max_body=MAX_FILE_BODY,
        tool="sandbox_str_replace_editor",
        destructive=True,
        operation_id="str_replace_editor",
        failures="file",
    )
    async def edit(self, request: StrReplaceEditorRequest) -> StrReplaceEditorResult:
        """View, create and edit files.

        `view` shows a file with numbered lines, a PDF by page, an Excel workbook by sheet, a presentation by slide, or
        two levels of a directory. `create` makes a file and never replaces one. `str_replace` replaces a text that must
        occur exactly once, unless `replace_mode` is given. `insert` inserts lines after a line. `undo_edit` undoes the
        last of these edits, and removes a file that it created.
        """
        access = self._files.access(request.command)
        run = {
            "view": self._view,
            "create": self._create,
            "str_replace": self._replace,
            "insert": self._insert,
            "undo_edit": self._undo,
        }[request.command]
        try:
            return await run(access, request)
        except (BadEdit, InvalidArgument) as error:
            raise EditFailed(str(error), path=request.path, operation=request.command) from None
        except FileError as error:
            missing = error.error_type == "not_found"
            message = _missing(request.path) if missing else error.message
            raise EditFailed(message, path=request.path, operation=request.command, exists=not missing, cause=error) from None

    async def _view(self, access: FileAccess, request: StrReplaceEditorRequest) -> StrReplaceEditorResult:
        if (await access.stat(request.path)).status.type == "directory":
            return await self._view_directory(access, request)
        if request.path.lower().endswith(DOCUMENTS):
            return await self._view_document(access, request)
        text, _ = await _read(access, request.path)
        return _result(request, edits.view(edits.without_returns(text.content), request.view_range, request.path))

    async def _view_directory(self, access: FileAccess, request: StrReplaceEditorRequest) -> StrReplaceEditorResult:
        if request.view_range:
            raise BadEdit("The `view_range` parameter is not allowed when `path` points to a directory.")
        found = await access.walk(request.path, depth=2, hidden=False, status=False, limit=MAX_ENTRIES)
        everything = await access.walk(request.path, depth=1, status=False, limit=MAX_ENTRIES)
        hidden = sum(entry.path.startswith(".") for entry in everything.entries)
        top = request.path.rstrip("/")
        names = [f"{top}/", *(f"{top}/{entry.path}{'/' if entry.directory else ''}" for entry in found.entries)]
        head = f"Here's the files and directories up to 2 levels deep in {request.path}, excluding hidden items:\n"
        output = head + "\n".join(names) + "\n"
        if found.total > len(found.entries):
            output += f"\nNOTE: {found.total - len(found.entries)} more are not shown."
        if hidden:
            output += f"\n{hidden} hidden files/directories in this directory are excluded."
            output += f" You can use 'ls -la {request.path}' to see them."
        return _result(request, output)

    async def _view_document(self, access: FileAccess, request: StrReplaceEditorRequest) -> StrReplaceEditorResult:
        wanted = request.model_dump(include={"page_range", "sheet_name", "row_range", "slide_range"}, exclude_none=True)
        with await access.open(request.path) as file:
            document = await self._documents.convert(file.fd, wanted)
        text = document.text
        if len(text) > edits.MAX_SHOWN:
            text = f"{text[: edits.MAX_SHOWN]}\nNOTE: this is the beginning; ask for a range of pages, rows or slides to see more.\n"
        return _result(request, text, metadata=dict(document.metadata) if request.enable_metadata else None)

    async def _create(self, access: FileAccess, request: StrReplaceEditorRequest) -> StrReplaceEditorResult:
        content = _encode(DecodedText(_required_parameter(request, "file_text")))
        try:
            await access.write(request.path, content, exclusive=True)
        except FileError as error:
            if error.error_type not in ("already_exists", "invalid_target"):
                raise
            why = f"File already exists at: {request.path}. Cannot overwrite files using command `create`."
            raise BadEdit(edits.invalid("path", request.path, why)) from None
        self._history.add(_key(access, request.path), None, content)
        return _result(request, f"File created successfully at: {request.path}", new=request.file_text, existed=False)

    async def _replace(self, access: FileAccess, request: StrReplaceEditorRequest) -> StrReplaceEditorResult:
        old, new = _required_parameter(request, "old_str"), request.new_str or ""

        def change(text: str, plain: Callable[[str], str]) -> Edited:
            return edits.replace(text, plain(old), plain(new), request.replace_mode, request.path)

        words = "Review the changes and make sure they are as expected. Edit the file again if necessary."
        return await self._change(access, request, change, f"a snippet of {request.path}", words)

    async def _insert(self, access: FileAccess, request: StrReplaceEditorRequest) -> StrReplaceEditorResult:
        new = _required_parameter(request, "new_str")
        if request.insert_line is None:
            raise BadEdit(_absent(request, "insert_line"))
        after = request.insert_line
        words = (
            "Review the changes and make sure they are as expected (correct indentation, no duplicate lines, etc). "
            "Edit the file again if necessary."
        )

        def change(text: str, plain: Callable[[str], str]) -> Edited:
            return edits.insert(text, plain(new), after)

        return await self._change(access, request, change, "a snippet of the edited file", words)

    async def _change(
        self, access: FileAccess, request: StrReplaceEditorRequest, change: Change, what: str, words: str
    ) -> StrReplaceEditorResult:
        await _refuse_directory(access, request)
        before, status = await _read(access, request.path)
        if edits.has_returns(before.content):
            edited = change(edits.without_returns(before.content), edits.without_returns)
            content = edits.with_returns(edited.text)
        else:
            edited = change(before.content, str)
            content = edited.text
        after = _encode(before.with_content(content))
        await access.write(request.path, after, if_match=status.etag)
        self._history.add(_key(access, request.path), before.encode(), after)
        output = f"The file {request.path} has been edited. {edits.snippet(edited, what)}{words}"
        return _result(request, output, old=before.content, new=content)

    async def _undo(self, access: FileAccess, request: StrReplaceEditorRequest) -> StrReplaceEditorResult:
        await _refuse_directory(access, request)
        key = _key(access, request.path)
        last = self._history.last(key)
        if last is None:
            raise BadEdit(f"No edit history found for {request.path}.")
        data, status = await access.read(request.path, limit=MAX_BYTES * 2)
        if not last.left(data):
            raise BadEdit(f"{request.path} was changed by something else since its last edit: undoing that edit would lose the change.")
        before = last.content
        old = decode(data, path=request.path, operation="undo_edit").content
        if before is None:
            await access.delete(request.path, if_match=status.etag)
            output, new = f"Last edit to {request.path} undone successfully. It had created the file, which is removed.", None
        else:
            await access.write(request.path, before, if_match=status.etag)
            new = decode(before, path=request.path, operation="undo_edit").content
            output = f"Last edit to {request.path} undone successfully. {edits.view(edits.without_returns(new), (), request.path)}"
        self._history.drop(key)
        return _result(request, output, old=old, new=new)


async def _read(access: FileAccess, path: str) -> tuple[DecodedText, FileStatus]:
    data, status = await access.read(path, limit=MAX_BYTES)
    return decode(data, path=path, operation=access.operation), status


async def _refuse_directory(access: FileAccess, request: StrReplaceEditorRequest) -> None:
    if (await access.stat(request.path)).status.type == "directory":
        why = f"The path {request.path} is a directory and only the `view` command can be used on directories."
        raise BadEdit(edits.invalid("path", request.path, why))


def _encode(text: DecodedText) -> bytes:
    try:
        return text.encode()
    except UnicodeEncodeError as error:
        raise BadEdit(f"The text cannot be written: {error.reason}.") from None


def _required_parameter(request: StrReplaceEditorRequest, name: Literal["file_text", "old_str", "new_str"]) -> str:
    value: str | None = getattr(request, name)
    if value is None:
        raise BadEdit(_absent(request, name))
    return value


def _absent(request: StrReplaceEditorRequest, name: str) -> str:
    return f"Parameter `{name}` is required for command: {request.command}."


def _missing(path: str) -> str:
    return edits.invalid("path", path, f"The path {path} does not exist. Please provide a valid path.")


def _key(access: FileAccess, path: str) -> str:
    return os.path.normpath(access.absolute(path))


def _result(
    request: StrReplaceEditorRequest,
    output: str,
    *,
    old: str | None = None,
    new: str | None = None,
    existed: bool = True,
    metadata: dict[str, Any] | None = None,
) -> StrReplaceEditorResult:
    return StrReplaceEditorResult(output=output, path=request.path, prev_exist=existed, old_content=old, new_content=new, metadata=metadata)
