"""The editors JupyterLab and code-server. They run as the agent and start on demand."""

import asyncio
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType
from typing import Self

from sandbox_server.core.errors import DeadlineExceeded, Failure, NotFound, Unavailable
from sandbox_server.core.tasks import Tasks
from sandbox_server.drivers.ports.listening_ports import Ports
from sandbox_server.drivers.spawn.child_setup import SESSION
from sandbox_server.drivers.spawn.pipes import Capture, PipeReader
from sandbox_server.drivers.spawn.process import Process, Processes, put_down
from sandbox_server.timeouts import scaled

START_SECONDS = scaled(60.0)
USUAL_SECONDS = 5.0
"""Typical seconds until an editor answers."""
RETRY_SECONDS = 1.0
KNOCK_SECONDS = 0.1
PROBE_SECONDS = scaled(20.0)
SAID_BYTES = 1 << 16
HIDDEN = (".cache", ".config", ".dbus", ".ipython", ".jupyter", ".local", ".npm", ".pki", ".bash_history", ".python_history")
"""What programs keep in the home directory."""
SETTINGS = {
    "chat.disableAIFeatures": True,
    "chat.commandCenter.enabled": False,
    "workbench.startupEditor": "none",
    "workbench.secondarySideBar.defaultVisibility": "hidden",
    "workbench.welcomePage.walkthroughs.openOnInstall": False,
    "window.title": "${dirty}${activeEditorShort}${separator}${rootName}${separator}Tandem",
    "files.exclude": dict.fromkeys((*HIDDEN, "**/.git", "**/__pycache__"), True),
}
"""What VS Code begins with, until its user changes it: no chat that no model answers, no welcome page."""
FRONT = str(Path(__file__).with_name("editor-front.cjs"))


@dataclass(frozen=True, slots=True)
class EditorProgram:
    """One editor. It listens on `port` of this machine, and ends by itself when idle."""

    name: str
    title: str
    port: int
    needs: str
    """A file that exists if it is installed."""
    argv: Sequence[str]
    build_argument: str
    """The build argument that adds it to an image."""

    base: str = ""
    """Its path on its port, without the first slash."""
    environment: Mapping[str, str] = field(default_factory=dict)
    """Variables beside the agent's environment."""

    @property
    def path(self) -> str:
        """Its path at the gateway, for programs."""
        return f"/{self.name}/"

    @property
    def preview(self) -> str:
        """Its preview URL for browsers, with an origin of its own."""
        return f"/proxy/{self.port}/{self.base}"


def jupyterlab(port: int, kernels: str, workspace: str, idle_seconds: float) -> EditorProgram:
    """JupyterLab. It lists the kernels whose connection files are in `kernels`."""
    options = {
        "ServerApp.base_url": "/jupyter/",
        "ServerApp.ip": "127.0.0.1",
        "ServerApp.port": str(port),
        "ServerApp.port_retries": "0",
        "ServerApp.root_dir": workspace,
        "ServerApp.open_browser": "False",
        "ServerApp.trust_xheaders": "True",
        "ServerApp.allow_external_kernels": "True",
        "ServerApp.external_connection_dir": kernels,
        "ServerApp.shutdown_no_activity_timeout": f"{idle_seconds:.0f}",
        "MappingKernelManager.cull_idle_timeout": f"{idle_seconds:.0f}",
        "KernelManager.transport": "ipc",
        "IdentityProvider.token": "",
        "LabApp.check_for_updates_class": "jupyterlab.NeverCheckForUpdate",
        "LabApp.news_url": "None",
        "LabApp.extension_manager": "readonly",
    }
    program = "/opt/jupyterlab/bin/python"
    argv = [program, "-I", "-m", "jupyterlab", *(f"--{name}={value}" for name, value in options.items())]
    return EditorProgram("jupyter", "JupyterLab", port, "/opt/jupyterlab/bin/jupyter-lab", argv, "JUPYTERLAB=1", "jupyter/")


def code_server(port: int, workspace: str, idle_seconds: float) -> EditorProgram:
    """code-server, which is VS Code."""
    script = "/opt/code-server/out/node/entry.js"
    options = [f"--bind-addr=127.0.0.1:{port}", "--auth=none", "--disable-telemetry", "--disable-update-check", "--disable-workspace-trust"]
    options += [f"--trusted-origins=localhost:{port}"]  # the host of its preview
    argv = [
        "/opt/node/24/bin/node",
        "--require",
        FRONT,
        script,
        *options,
        "--disable-getting-started-override",
        "--app-name=Tandem",
        workspace,
    ]
    told = {"EDITOR_FRONT": f"{port} {idle_seconds:.0f}", "EDITOR_SETTINGS": json.dumps(SETTINGS)}
    return EditorProgram("code-server", "code-server", port, script, argv, "CODE_SERVER=1", environment=told)


class Editors:
    """Starts and stops editors; an asynchronous context manager, which ends the running ones."""

    def __init__(self, processes: Processes, editors: Sequence[EditorProgram], ports: Ports) -> None:
        self._processes = processes
        self._ports = ports
        self._editors = {editor.name: editor for editor in editors}
        self._running: dict[str, tuple[Process, PipeReader]] = {}
        self._starting = asyncio.Lock()
        self._tasks = Tasks()
        self._woken: dict[str, float] = {}
        """Editors that start unattended, and since when."""
        self._failed: dict[str, Failure] = {}

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        await self._tasks.close()
        for name in list(self._running):
            await self.stop(name)

    def __iter__(self) -> Iterator[EditorProgram]:
        return iter(self._editors.values())

    def get(self, name: str) -> EditorProgram:
        """Return an editor; raises NotFound, also for a disabled one."""
        if name not in self._editors:
            raise NotFound(f"there is no editor {name!r} here", name=name, hint="DISABLE_JUPYTER and DISABLE_CODE_SERVER leave one out")
        return self._editors[name]

    def runs(self, editor: EditorProgram) -> bool:
        """Whether it has been started and has not ended."""
        return editor.name in self._running and self._running[editor.name][0].exit is None

    async def installed(self, editor: EditorProgram) -> bool:
        """Whether it is installed."""
        done = await self._processes.run(["test", "-e", editor.needs], timeout=PROBE_SECONDS, max_output=0)
        return done.exit.code == 0

    async def start(self, name: str) -> EditorProgram:
        """Start it if needed, and wait until it answers.

        Raises NotFound, Unavailable if it is not installed or has ended, and DeadlineExceeded if it does not answer.
        """
        editor = self.get(name)
        async with self._starting:
            if not self.runs(editor):
                await self.stop(name)
                await self._start(editor)
        return editor

    def wake(self, name: str) -> float:
        """Start one without waiting.

        Return the seconds until it should answer. Raises NotFound, and once the failure of the last start.
        """
        self.get(name)
        if failure := self._failed.pop(name, None):
            raise failure
        now = asyncio.get_running_loop().time()
        if name not in self._woken:
            self._woken[name] = now
            self._tasks.start(self._awaken(name), name=f"start {name}")
        return max(RETRY_SECONDS, USUAL_SECONDS - (now - self._woken[name]))

    async def _awaken(self, name: str) -> None:
        try:
            await self.start(name)
        except Failure as failure:  # reported to the next caller
            self._failed[name] = failure
        finally:
            del self._woken[name]

    async def stop(self, name: str) -> None:
        """End it, with everything that was started in it."""
        running = self._running.pop(name, None)
        if running:
            await put_down(running[0])
            running[1].close()

    async def _start(self, editor: EditorProgram) -> None:
        if not await self.installed(editor):
            hint = f"build one that has it: {editor.build_argument} scripts/build"
            raise Unavailable(f"{editor.title} is not in this image", hint=hint, name=editor.name)
        said = Capture(SAID_BYTES)
        output = PipeReader(said.take)
        env = {**editor.environment, SESSION: f"editor:{editor.name}"}
        process = await self._processes.start(editor.argv, env=env, stdout=output.theirs, stderr=output.theirs, on_exit="kill")
        output.release()
        self._running[editor.name] = process, output
        try:
            async with asyncio.timeout(START_SECONDS):
                answered = await self._answering(process, editor.port)
        except TimeoutError:
            await self.stop(editor.name)
            raise DeadlineExceeded(f"{editor.title} did not answer within {START_SECONDS:g} s", name=editor.name) from None
        except BaseException:
            await self.stop(editor.name)
            raise
        if not answered:
            await output.settle()
            text = said.bytes().decode("utf-8", "replace").strip()[-1000:]
            raise Unavailable(f"{editor.title} ended at its start: {text}", name=editor.name)

    async def _answering(self, process: Process, port: int) -> bool:
        """Wait until it listens. Return False if it has ended."""
        while not await self._ports.listens(port):
            if process.exit:
                return False
            await asyncio.sleep(KNOCK_SECONDS)
        return True
