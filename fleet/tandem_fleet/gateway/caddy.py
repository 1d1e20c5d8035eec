"""Caddy as a child of this process: it is started again when it ends, and ends with this process."""

import asyncio
import contextlib
import json
import logging
import os
import socket
import sys
from collections.abc import AsyncIterator
from pathlib import Path

from tandem_fleet.errors import FleetError
from tandem_fleet.gateway.tls_config import Json

_log = logging.getLogger(__name__)
READY_SECONDS = 20.0
END_SECONDS = 10.0
LONGEST_PAUSE = 5.0


class CaddyFailedError(FleetError):
    """Caddy did not start."""

    code = "gateway"


class Caddy:
    """Runs a configuration. The descriptors that it names are passed on, so that clients wait while it starts again."""

    def __init__(self, program: str, configuration: Json, folder: Path, descriptors: tuple[int, ...]) -> None:
        self._program = program
        self._configuration = configuration
        self._folder = folder
        self._descriptors = descriptors
        self._notify = folder / "notify"
        self._news = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        self._status, self._said = "", ""
        self.process: asyncio.subprocess.Process | None = None

    @contextlib.asynccontextmanager
    async def running(self) -> AsyncIterator["Caddy"]:
        """Keep it running until the block ends. Raises `CaddyFailedError` where it does not start."""
        file = self._written()
        with self._news:
            self._notify.unlink(missing_ok=True)
            self._news.setblocking(False)
            self._news.bind(str(self._notify))
            keeper = asyncio.create_task(self._keep(await self._start(file), file))
            try:
                yield self
            finally:
                keeper.cancel()
                await asyncio.gather(keeper, return_exceptions=True)
                await self._end()

    def _written(self) -> Path:
        """The configuration's file, which only this user reads."""
        file = self._folder / "caddy.json"
        with open(file, "w", encoding="utf-8", opener=lambda name, flags: os.open(name, flags, 0o600)) as opened:
            json.dump(self._configuration, opened, indent=1)
        return file

    async def _keep(self, process: asyncio.subprocess.Process, file: Path) -> None:
        """Start it again each time it ends, later each time it fails to start."""
        pause = 0.1
        while True:
            await process.wait()
            _log.warning("Caddy ended with exit code %s: it is started again", process.returncode)
            while True:
                try:
                    process = await self._start(file)
                    pause = 0.1
                    break
                except (CaddyFailedError, OSError) as error:
                    _log.error("%s", error)
                    await asyncio.sleep(pause)
                    pause = min(LONGEST_PAUSE, pause * 2)

    async def _start(self, file: Path) -> asyncio.subprocess.Process:
        """Start it and wait until it says that it serves."""
        process = await self._spawn(file)
        self.process = process
        served = asyncio.create_task(self._said_ready())
        ended = asyncio.create_task(process.wait())
        try:
            await asyncio.wait({served, ended}, timeout=READY_SECONDS, return_when=asyncio.FIRST_COMPLETED)
            if served.done() and served.result() and not ended.done():
                return process
        finally:
            for task in (served, ended):
                task.cancel()
            await asyncio.gather(served, ended, return_exceptions=True)
        await self._end()
        raise CaddyFailedError(f"Caddy did not start: {self._status or self._said or 'it said nothing'}")

    async def _spawn(self, file: Path) -> asyncio.subprocess.Process:
        words = [self._program, "run", "--config", str(file)]
        homes = dict.fromkeys(("HOME", "XDG_CONFIG_HOME", "XDG_DATA_HOME"), str(self._folder))
        environment = {"PATH": os.environ.get("PATH", os.defpath), "NOTIFY_SOCKET": str(self._notify)} | homes
        launcher = [sys.executable, "-I", str(Path(__file__).with_name("bound_process.py")), str(os.getpid())]
        process = await asyncio.create_subprocess_exec(
            *launcher,
            *words,
            env=environment,
            stdin=asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.DEVNULL,
            stderr=asyncio.subprocess.PIPE,
            pass_fds=self._descriptors,
        )
        self._reader = asyncio.create_task(self._read(process))
        return process

    async def _read(self, process: asyncio.subprocess.Process) -> None:
        """Pass on what it warns of, and keep the last line for who wants to know why it ended."""
        assert process.stderr is not None
        with contextlib.suppress(ValueError):  # a line without end
            async for line in process.stderr:
                self._said = line.decode("utf-8", "replace").strip()[:2000]
                _log.warning("Caddy: %s", self._said)

    async def _end(self) -> None:
        process = self.process
        if process is None:
            return
        if process.returncode is None:
            process.terminate()
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(END_SECONDS):
                    await process.wait()
        if process.returncode is None:
            process.kill()
            await process.wait()
        await self._reader

    async def _said_ready(self) -> bool:
        """Whether it serves, once it says so, in the protocol of systemd's services. A status comes with what failed alone."""
        while True:
            said = await asyncio.get_running_loop().sock_recv(self._news, 4096)
            if said.startswith(b"STATUS="):
                self._status = said.removeprefix(b"STATUS=").decode("utf-8", "replace")
                return False
            if said == b"READY=1":
                return True
