"""Give a deep agent (LangChain) the sandbox for its files and its commands."""

import os
import posixpath

from agent_sandbox import Sandbox
from agent_sandbox.core.api_error import ApiError
from deepagents import create_deep_agent
from deepagents.backends.protocol import ExecuteResponse, FileDownloadResponse, FileUploadResponse
from deepagents.backends.sandbox import BaseSandbox
from langchain_openai import ChatOpenAI

TASK = os.environ.get(
    "TASK", "Write a Python program to /home/gem/greet.py that greets whoever it is given, run it for Ada, and tell what it says."
)
COMMAND_SECONDS = 120.0
ERRORS = {403: "permission_denied", 404: "file_not_found"}


class SandboxBackend(BaseSandbox):
    """Commands and files of a sandbox; what else a deep agent does with files, the base class makes of these."""

    def __init__(self, client: Sandbox) -> None:
        self._client = client

    @property
    def id(self) -> str:
        """What tells this sandbox from others."""
        return os.environ.get("SANDBOX_URL", "tandem")

    def execute(self, command: str, *, timeout: float | None = None) -> ExecuteResponse:
        """Run a command to its end, or until it has taken too long."""
        done = self._client.bash.exec(command=command, hard_timeout=timeout or COMMAND_SECONDS, max_output_length=0).data
        return ExecuteResponse(output=(done.stdout or "") + (done.stderr or ""), exit_code=done.exit_code)

    def upload_files(self, files: list[tuple[str, bytes]]) -> list[FileUploadResponse]:
        """Write files; one that fails keeps none of the others from being written."""
        return [FileUploadResponse(path=path, error=self._upload(path, content)) for path, content in files]

    def download_files(self, paths: list[str]) -> list[FileDownloadResponse]:
        """Read files."""
        return [self._download(path) for path in paths]

    def _upload(self, path: str, content: bytes) -> str | None:
        try:
            self._client.file.upload_file(file=(posixpath.basename(path), content), path=path)
        except ApiError as error:
            return ERRORS.get(error.status_code or 0, str(error.body))
        return None

    def _download(self, path: str) -> FileDownloadResponse:
        try:
            return FileDownloadResponse(path=path, content=b"".join(self._client.file.download_file(path=path)))
        except ApiError as error:
            return FileDownloadResponse(path=path, error=ERRORS.get(error.status_code or 0, str(error.body)))


def main() -> None:
    """Do a task, and show each step."""
    client = Sandbox(
        base_url=os.environ.get("SANDBOX_URL", "http://127.0.0.1:8080"),
        headers={"Authorization": f"Bearer {os.environ['SANDBOX_API_KEY']}"},
    )
    model = ChatOpenAI(model=os.environ.get("MODEL", "gpt-5-mini"))  # OPENAI_API_KEY, and OPENAI_BASE_URL for other servers of the same API
    agent = create_deep_agent(model=model, backend=SandboxBackend(client))
    for message in agent.invoke({"messages": [{"role": "user", "content": TASK}]})["messages"][1:]:
        print(f"{message.type}: {message.text or [call['name'] for call in message.tool_calls]}")


main()
