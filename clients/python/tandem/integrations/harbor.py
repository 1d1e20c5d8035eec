"""A sandbox as the environment of Harbor, which runs agents on tasks and grades them.

```sh
harbor run --path examples/harbor_task --agent oracle --env tandem.integrations.harbor:SandboxEnvironment
```
"""

import asyncio
import io
import shlex
import tarfile
import uuid
from pathlib import Path

from harbor.environments.base import BaseEnvironment, ExecResult, transfer_tar_filter
from harbor.environments.capabilities import EnvironmentCapabilities
from harbor.environments.options import EnvironmentOptions

from tandem import AsyncSandbox
from tandem.errors import TandemError

ROOT = "root"
"""Who runs a command unless the task names a user: tasks expect it, as in a container of Docker's."""
FOLDERS = "/logs /tests /solution"
"""What Harbor makes in an environment."""


class SandboxOptions(EnvironmentOptions):
    """What `--environment-kwarg` takes."""

    image: str | None = None
    """The image to start a container of, in place of the task's `docker_image`."""
    url: str | None = None
    """A sandbox that runs already, whose key is in SANDBOX_API_KEY. It takes one trial at a time, and goes on after it."""


class SandboxEnvironment(BaseEnvironment):
    """One sandbox for each trial: a container of Docker's on this machine, or the one at `url`."""

    options_model = SandboxOptions
    options: SandboxOptions
    _running: AsyncSandbox | None = None

    @staticmethod
    def type() -> str:
        """The name in Harbor's results."""
        return "tandem"

    @property
    def capabilities(self) -> EnvironmentCapabilities:
        """None: Harbor refuses a task that needs a GPU, a network policy or several containers."""
        return EnvironmentCapabilities()

    @property
    def _sandbox(self) -> AsyncSandbox:
        if self._running is None:
            raise RuntimeError("the sandbox is not started")
        return self._running

    def _validate_definition(self) -> None:
        if not (self.options.url or self.options.image or self.task_env_config.docker_image):
            raise ValueError("the task names no docker_image: build its Dockerfile from Tandem's image, and name what you built")

    async def start(self, force_build: bool = False) -> None:
        """Start the sandbox, with none of Harbor's folders of an earlier trial. Raises TandemError, and TimeoutError."""
        if self.options.url:
            self._running = AsyncSandbox(self.options.url)
        else:
            self._running = await AsyncSandbox.start(self.options.image or self.task_env_config.docker_image or "tandem")
        try:
            made = shlex.join([*self._mount_targets(), *([self.task_env_config.workdir] if self.task_env_config.workdir else [])])
            await self._checked(f"rm -rf {FOLDERS} && mkdir -p {FOLDERS} {made} && chmod -R 777 {FOLDERS}")
            await self._upload_environment_dir_after_start()
        except BaseException:
            await self.stop(delete=True)
            raise

    async def stop(self, delete: bool) -> None:
        """Remove the container. A sandbox that ran before stays, without Harbor's folders if `delete` says so."""
        if self._running is None:
            return
        if self.options.url and delete:
            try:
                await self._checked(f"rm -rf {FOLDERS}")
            except (TandemError, RuntimeError) as error:
                self.logger.warning("Harbor's folders are still in %s: %s", self._running.url, error)
        await self._running.aclose()
        self._running = None

    async def exec(
        self,
        command: str,
        cwd: str | None = None,
        env: dict[str, str] | None = None,
        timeout_sec: int | None = None,
        user: str | int | None = None,
    ) -> ExecResult:
        """Run a command with bash as `user`, root unless the task says otherwise. Raises RuntimeError after `timeout_sec` seconds."""
        who = self._resolve_user(user)
        name = ROOT if who is None else f"#{who}" if isinstance(who, int) else who
        given = self._merge_env(env) or {}
        kept = [f"--preserve-env={','.join(given)}"] if given else []
        line = shlex.join(["sudo", "-n", "-H", *kept, "-u", name, "--", "bash", "-c", command])
        done = await self._sandbox.shell.run(line, cwd=cwd or self.task_env_config.workdir, env=given, timeout=timeout_sec)
        if done.exit_code is None:
            raise RuntimeError(f"the command was stopped ({done.status}): {command[:200]}")
        return ExecResult(stdout=done.stdout, stderr=done.stderr, return_code=done.exit_code)

    async def upload_file(self, source_path: Path | str, target_path: str) -> None:
        """Copy a file into the sandbox, with its mode. Raises OSError, TandemError and RuntimeError."""
        target = shlex.quote(target_path)
        content, mode = await asyncio.to_thread(_read, Path(source_path))
        held = await self._held(content)
        await self._checked(f'mkdir -p "$(dirname -- {target})" && cp -- {held} {target} && chmod {mode:o} -- {target}; {_ending(held)}')

    async def upload_dir(self, source_dir: Path | str, target_dir: str) -> None:
        """Copy what a directory holds into one of the sandbox. Raises OSError, TandemError and RuntimeError."""
        target = shlex.quote(target_dir)
        held = await self._held(await asyncio.to_thread(_packed, Path(source_dir)))
        await self._checked(f"mkdir -p {target} && tar -x --no-same-owner -C {target} -f {held}; {_ending(held)}")

    async def download_file(self, source_path: str, target_path: Path | str) -> None:
        """Copy a file out of the sandbox. Raises OSError, TandemError and RuntimeError."""
        content = await self._taken(f"cat -- {shlex.quote(source_path)}")
        await asyncio.to_thread(_write, Path(target_path), content)

    async def download_dir(self, source_dir: str, target_dir: Path | str) -> None:
        """Copy what a directory of the sandbox holds; no link leads out of `target_dir`. Raises OSError, TandemError and RuntimeError."""
        packed = await self._taken(f"tar -c -C {shlex.quote(source_dir)} -f - .")
        await asyncio.to_thread(_unpack, packed, Path(target_dir))

    async def _held(self, content: bytes) -> str:
        path = _new_path()
        await self._sandbox.files.write(path, content)
        return path

    async def _taken(self, command: str) -> bytes:
        path = _new_path()
        try:
            await self._checked(f"umask 077; {command} > {path} && chown gem {path}")
            return await self._sandbox.files.read(path)
        finally:
            await self.exec(f"rm -f {path}", user=ROOT, cwd="/")

    async def _checked(self, command: str) -> None:
        done = await self.exec(command, user=ROOT, cwd="/")
        if done.return_code != 0:
            raise RuntimeError(f"exit code {done.return_code}: {(done.stderr or done.stdout or '')[-2000:]}")


def _new_path() -> str:
    return f"/tmp/harbor-{uuid.uuid4().hex}"


def _ending(held: str) -> str:
    return f"code=$?; rm -f {held}; exit $code"


def _read(path: Path) -> tuple[bytes, int]:
    return path.read_bytes(), path.stat().st_mode & 0o777


def _packed(folder: Path) -> bytes:
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w") as archive:
        archive.add(folder, arcname=".")
    return packed.getvalue()


def _write(path: Path, content: bytes) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content)


def _unpack(packed: bytes, target: Path) -> None:
    target.mkdir(parents=True, exist_ok=True)
    with tarfile.open(fileobj=io.BytesIO(packed)) as archive:
        archive.extractall(target, filter=transfer_tar_filter)
