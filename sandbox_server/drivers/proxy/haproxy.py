"""HAProxy as it runs: told what to do by its configuration file, and to read that by its master's socket.

The supervisor starts it, and it waits at a named pipe until there is a configuration; so it takes no memory where nobody wants a proxy.
"""

import asyncio
import os
from contextlib import suppress
from pathlib import Path

from sandbox_server.core.errors import Unavailable
from sandbox_server.timeouts import scaled

ANSWER_SECONDS = scaled(10.0)
START_SECONDS = scaled(15.0)
LOOK_SECONDS = 0.05
MAX_ANSWER = 1 << 20


class Haproxy:
    """The proxy whose files are in a folder that it shares with this process."""

    def __init__(self, folder: str) -> None:
        self._configuration = Path(folder, "haproxy.cfg")
        self._master = str(Path(folder, "master.sock"))
        self._start = str(Path(folder, "start"))

    async def apply(self, configuration: str) -> None:
        """Have it serve by this configuration; requests that are under way go on by the old one.

        Raises Unavailable, with nothing of the configuration in it.
        """
        changed = not self.has(configuration)
        if changed:
            self._write(configuration)
        if not await self.alive():
            await self._wake()
        elif changed:
            await self.reload()

    async def reload(self) -> None:
        """Have it read its configuration again, and look up the hosts in it; the old one counts for no new request then.

        Raises Unavailable.
        """
        if "Success=1" not in await self._ask("reload"):
            raise Unavailable("the proxy does not take its new configuration, and goes on with the old one", retry_after=1.0)
        try:
            async with asyncio.timeout(ANSWER_SECONDS):
                for pid in _old_workers(await self._ask("show proc")):
                    while _takes_requests(await self._told(f"@!{pid} show info")):  # noqa: ASYNC110 - nothing tells when
                        await asyncio.sleep(LOOK_SECONDS)
        except TimeoutError:
            raise Unavailable("the proxy still takes requests by its old configuration", retry_after=1.0) from None

    def has(self, configuration: str) -> bool:
        """Whether this is the configuration that it starts with."""
        with suppress(OSError):
            return self._configuration.read_text("utf-8") == configuration
        return False

    async def alive(self) -> bool:
        """Whether it serves."""
        return "worker" in await self._told("show proc")

    def waits(self) -> bool:
        """Whether it is there, and waits for a configuration."""
        return self._knock()

    async def _wake(self) -> None:
        try:
            async with asyncio.timeout(START_SECONDS):
                while not await self.alive():
                    self._knock()
                    await asyncio.sleep(LOOK_SECONDS)
        except TimeoutError:
            raise Unavailable("the proxy does not start", retry_after=1.0) from None

    def _knock(self) -> bool:
        """Let it look for a configuration; false where nobody waits for that."""
        with suppress(OSError):  # ENXIO: nobody reads
            os.close(os.open(self._start, os.O_WRONLY | os.O_NONBLOCK | os.O_CLOEXEC))
            return True
        return False

    def _write(self, text: str) -> None:
        draft = self._configuration.with_suffix(".new")
        descriptor = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW | os.O_CLOEXEC, 0o640)
        with open(descriptor, "w", encoding="utf-8") as file:
            os.fchmod(descriptor, 0o640)
            file.write(text)
        draft.replace(self._configuration)

    async def _told(self, command: str) -> str:
        """What it answers; nothing where it does not."""
        try:
            return await self._ask(command)
        except Unavailable:
            return ""

    async def _ask(self, command: str) -> str:
        try:
            async with asyncio.timeout(ANSWER_SECONDS):
                reader, writer = await asyncio.open_unix_connection(self._master, limit=MAX_ANSWER)
                try:
                    writer.write(f"{command}\n".encode())
                    writer.write_eof()
                    return (await reader.read(-1)).decode("utf-8", "replace")
                finally:
                    writer.close()
        except (OSError, TimeoutError) as error:
            raise Unavailable("the proxy does not answer", retry_after=1.0) from error


def _old_workers(processes: str) -> list[str]:
    """The pids of those that only finish what they have begun, from the master's list."""
    section = processes.partition("# old workers\n")[2].partition("#")[0]
    return [line.split()[0] for line in section.splitlines() if line.strip()]


def _takes_requests(told: str) -> bool:
    """Whether a worker listens still, or has connections on which nothing was asked yet: browsers open some ahead; they end in seconds."""
    facts = dict(line.split(": ", 1) for line in told.splitlines() if ": " in line)
    if facts.get("Stopping") == "0":
        return True
    return int(facts.get("CurrConns", 0)) > int(facts.get("CurrStreams", 1)) - 1  # one stream is this question's own
