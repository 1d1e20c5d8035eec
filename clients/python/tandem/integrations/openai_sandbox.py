"""A sandbox as the workspace of a `SandboxAgent` of OpenAI's Agents SDK.

```python
client = TandemSandboxClient(sandbox)
await Runner.run(agent, task, run_config=RunConfig(sandbox=SandboxRunConfig(client=client)))
```
"""

import base64
import io
import shlex
import uuid
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from agents.sandbox.errors import (
    ExecTimeoutError,
    WorkspaceArchiveReadError,
    WorkspaceArchiveWriteError,
    WorkspaceReadNotFoundError,
    WorkspaceWriteTypeError,
)
from agents.sandbox.manifest import Manifest
from agents.sandbox.session.base_sandbox_session import BaseSandboxSession
from agents.sandbox.session.runtime_helpers import RESOLVE_WORKSPACE_PATH_HELPER
from agents.sandbox.session.sandbox_client import BaseSandboxClient, BaseSandboxClientOptions
from agents.sandbox.session.sandbox_session import SandboxSession
from agents.sandbox.session.sandbox_session_state import SandboxSessionState
from agents.sandbox.session.tar_workspace import shell_tar_exclude_args
from agents.sandbox.snapshot import resolve_snapshot
from agents.sandbox.types import ExecResult

from tandem.errors import NotFound, TandemError
from tandem.integrations import person

if TYPE_CHECKING:
    from tandem import AsyncSandbox

COMMAND_SECONDS = 120.0
"""After so long a command is stopped that was given no other time."""
NOT_RUN = 126
"""The exit code of a command that was refused, as shells have it."""
_BASH = ["bash", "-c"]
WORKSPACE = "/home/gem/workspace"
"""Where the files of an agent are that has no manifest."""


class TandemSandboxOptions(BaseSandboxClientOptions):
    """No options: a client has one sandbox."""

    type: Literal["tandem"] = "tandem"


class TandemSandboxState(SandboxSessionState):
    """What a session is resumed from."""

    type: Literal["tandem"] = "tandem"
    url: str
    """The sandbox."""


class TandemSandboxSession(BaseSandboxSession):
    """Commands and files; what else the SDK does, its base class makes of these.

    A command that is refused, because a person drives for example, has the exit code 126, and its output says why.
    """

    def __init__(self, state: TandemSandboxState, sandbox: "AsyncSandbox") -> None:
        self.state = state
        self._sandbox = sandbox

    async def _exec_internal(self, *command: str | Path, timeout: float | None = None) -> ExecResult:
        line = shlex.join(str(word) for word in command)
        cwd = self.state.manifest.root if self.state.workspace_root_ready else None
        try:
            env = await self.state.manifest.environment.resolve()
            done = await self._sandbox.shell.run(line, cwd=cwd, env=env, timeout=timeout or COMMAND_SECONDS)
        except TandemError as error:
            return ExecResult(stdout=b"", stderr=person.failure_text(error).encode(), exit_code=NOT_RUN)
        if done.status == "timed_out":
            raise ExecTimeoutError(command=command, timeout_s=timeout or COMMAND_SECONDS)
        code = NOT_RUN if done.exit_code is None else done.exit_code
        return ExecResult(stdout=done.stdout.encode(), stderr=done.stderr.encode(), exit_code=code)

    async def _validate_path_access(self, path: Path | str, *, for_write: bool = False) -> Path:
        found: Path = await self._validate_remote_path_access(path, for_write=for_write)
        return found

    def _runtime_helpers(self) -> tuple[Any, ...]:
        return (RESOLVE_WORKSPACE_PATH_HELPER,)

    async def _prepare_backend_workspace(self) -> None:
        await self._exec_checked_nonzero("mkdir", "-p", "--", self.state.manifest.root)

    async def read(self, path: Path, *, user: Any = None) -> io.IOBase:
        """What a file of the workspace holds."""
        if user is not None:
            await self._check_read_with_exec(path, user=user)
        there = await self._validate_path_access(path)
        try:
            return io.BytesIO(await self._sandbox.files.read(str(there)))
        except NotFound as error:
            raise WorkspaceReadNotFoundError(path=path, cause=error) from error
        except TandemError as error:
            raise WorkspaceArchiveReadError(path=path, cause=error) from error

    async def write(self, path: Path, data: io.IOBase, *, user: Any = None) -> None:
        """Write a file of the workspace."""
        if user is not None:
            await self._check_write_with_exec(path, user=user)
        content: Any = data.read()
        if not isinstance(content, str | bytes | bytearray):
            raise WorkspaceWriteTypeError(path=path, actual_type=type(content).__name__)
        there = await self._validate_path_access(path, for_write=True)
        try:
            await self._sandbox.files.write(str(there), content if isinstance(content, str) else bytes(content))
        except TandemError as error:
            raise WorkspaceArchiveWriteError(path=there, cause=error, message=person.failure_text(error)) from error

    async def running(self) -> bool:
        """Whether the sandbox answers."""
        try:
            return (await self._sandbox.shell.run("true", timeout=10)).ok
        except TandemError:
            return False

    async def persist_workspace(self) -> io.IOBase:
        """The workspace as a tar archive."""
        skipped = " ".join(shell_tar_exclude_args(self._persist_workspace_skip_relpaths()))
        done = await self.exec(
            f"set -o pipefail; tar {skipped} -C {shlex.quote(self.state.manifest.root)} -cf - . | base64 -w0", shell=_BASH
        )
        if not done.ok():
            raise WorkspaceArchiveReadError(path=self._workspace_root_path(), context={"output": done.stderr.decode()})
        return io.BytesIO(base64.b64decode(done.stdout))

    async def hydrate_workspace(self, data: io.IOBase) -> None:
        """Fill the workspace from a tar archive, which the SDK checks for paths that lead out of it."""
        archive = self._workspace_root_path() / f".sandbox-{uuid.uuid4().hex}.tar"
        try:
            await self.extract(archive, data, compression_scheme="tar")
        finally:
            await self.exec("rm", "-f", "--", str(archive), shell=False)


class TandemSandboxClient(BaseSandboxClient):
    """Sessions in one sandbox that is there already, and that no session ends."""

    backend_id = "tandem"
    supports_default_options = True

    def __init__(self, sandbox: "AsyncSandbox") -> None:
        self._sandbox = sandbox

    async def create(self, *, snapshot: Any = None, manifest: Manifest | None = None, options: Any = None) -> SandboxSession:
        """A session whose files are in the manifest's root, WORKSPACE unless one is given."""
        given = self._validate_manifest_for_create(manifest or Manifest(root=WORKSPACE))
        identity = uuid.uuid4()
        kept = resolve_snapshot(snapshot, str(identity))
        state = TandemSandboxState(session_id=identity, snapshot=kept, manifest=given, url=self._sandbox.url)
        return self._wrap_session(TandemSandboxSession(state, self._sandbox))

    async def delete(self, session: SandboxSession) -> SandboxSession:
        """Leave the sandbox and its files as they are: the person has them too."""
        return session

    async def resume(self, state: SandboxSessionState) -> SandboxSession:
        """The same workspace again. Raises ValueError where the state is of another sandbox."""
        if not isinstance(state, TandemSandboxState) or state.url != self._sandbox.url:
            raise ValueError(f"the session was not in {self._sandbox.url}")
        state.assert_path_grants_rebound()
        session = TandemSandboxSession(state, self._sandbox)
        session._set_start_state_preserved(workspace=True)
        return self._wrap_session(session)

    def deserialize_session_state(self, payload: dict[str, object]) -> SandboxSessionState:
        """A state from its JSON."""
        return self._deserialize_session_state_payload(payload, TandemSandboxState)
