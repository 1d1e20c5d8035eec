"""A sandbox as the backend of LangChain's deep agents: their files and commands, and a tool that asks a person.

```python
agent = create_deep_agent(model=model, backend=SandboxBackend(sandbox), tools=[ask_person(sandbox)])
```
"""

import asyncio
from typing import TYPE_CHECKING

from deepagents.backends.protocol import ExecuteResponse, FileDownloadResponse, FileInfo, FileUploadResponse, LsResult
from deepagents.backends.sandbox import BaseSandbox
from langchain_core.tools import StructuredTool

from tandem.errors import ApiError, TandemError
from tandem.integrations import person

if TYPE_CHECKING:
    from tandem import Sandbox

COMMAND_SECONDS = 120.0
"""After so long a command is stopped that was given no other time."""
PERSON_SECONDS = 600.0
"""How long a person is waited for."""
NOT_RUN, STOPPED = 126, 124
"""The exit codes of a command that was refused, and of one that was stopped, as shells and `timeout` have them: the base class takes a
command without one for a success."""
_REASONS = {403: "permission_denied", 404: "file_not_found"}


class SandboxBackend(BaseSandbox):
    """Commands and files of a sandbox; what else a deep agent does with files, the base class makes of these.

    Nothing raises: a failure is the answer, which the model reads.
    """

    def __init__(self, sandbox: "Sandbox") -> None:
        self._sandbox = sandbox

    @property
    def id(self) -> str:
        """What tells this sandbox from others: its URL."""
        return self._sandbox.url

    def execute(self, command: str, *, timeout: int | None = None) -> ExecuteResponse:
        """Run a command to its end, or until it has taken `timeout` seconds."""
        try:
            done = self._sandbox.shell.run(command, timeout=timeout or COMMAND_SECONDS)
        except TandemError as error:
            return ExecuteResponse(output=person.failure_text(error), exit_code=NOT_RUN)
        output = f"{done.stdout}{done.stderr}"
        if done.exit_code is None:
            return ExecuteResponse(output=f"{output}\n[{done.status}]", exit_code=STOPPED)
        return ExecuteResponse(output=output, exit_code=done.exit_code)

    def ls(self, path: str) -> LsResult:
        """What a directory holds. The base class's own takes a refused command for an empty directory."""
        try:
            found = self._sandbox.files.entries(path)
        except TandemError as error:
            return LsResult(error=_reason(error))
        return LsResult(
            entries=[
                FileInfo(path=entry.path, is_dir=entry.is_directory, size=entry.size or 0, modified_at=entry.modified_time or "")
                for entry in found
            ]
        )

    async def als(self, path: str) -> LsResult:
        """The same, in a thread."""
        return await asyncio.to_thread(self.ls, path)

    def upload_files(self, files: list[tuple[str, bytes]]) -> list[FileUploadResponse]:
        """Write files; one that fails keeps none of the others from being written."""
        return [FileUploadResponse(path=path, error=self._upload(path, content)) for path, content in files]

    def download_files(self, paths: list[str]) -> list[FileDownloadResponse]:
        """Read files; one that fails keeps none of the others from being read."""
        return [self._download(path) for path in paths]

    def _upload(self, path: str, content: bytes) -> str | None:
        try:
            self._sandbox.files.write(path, content)
        except TandemError as error:
            return _reason(error)
        return None

    def _download(self, path: str) -> FileDownloadResponse:
        try:
            return FileDownloadResponse(path=path, content=self._sandbox.files.read(path))
        except TandemError as error:
            return FileDownloadResponse(path=path, error=_reason(error))


def _reason(error: TandemError) -> str:
    known = _REASONS.get(error.status) if isinstance(error, ApiError) else None
    return known or person.failure_text(error)


def ask_person(sandbox: "Sandbox", *, timeout: float = PERSON_SECONDS) -> StructuredTool:
    """The tool `ask_person`, which waits for `timeout` seconds."""

    def ask(kind: str, question: str, choices: list[str] | None = None, url: str | None = None) -> str:
        asked = person.Question.model_validate({"kind": kind, "question": question, "choices": choices or [], "url": url})
        try:
            return asked.asked_of(sandbox, timeout)
        except TandemError as error:
            return person.failure_text(error)

    return StructuredTool.from_function(ask, name=person.NAME, description=person.DESCRIPTION, args_schema=person.Question)
