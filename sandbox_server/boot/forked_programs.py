"""What the supervisor starts as forks of the programs' zygote (`program_zygote`), each as its own child.

The zygote ends as soon as each of them has been started once: its own copies of pages that they have changed since would
be the largest part of what it holds. A program that ends later starts by itself, as without a zygote.

The zygote is not trusted with more than its user may: what it forks is accepted only if Linux attests that it is a child
of this process and of that user (`drivers/spawn/zygote_pool`).
"""

import select
import socket
from collections.abc import Container, Iterable, Mapping, Sequence

from sandbox_server.boot.program_zygote import COMMAND
from sandbox_server.drivers.spawn.child_setup import Account, Program
from sandbox_server.drivers.spawn.zygote_pool import NoZygoteError, ZygotePool
from sandbox_server.timeouts import scaled

NAMES = frozenset({"cdp", "mcp", "stream"})
"""The programs that may be forked: they run as `control`, as the API does, and share what they import with it."""
FORK_SECONDS = scaled(5.0)
"""A zygote that has not forked by then is given up, and with it every later fork."""
_NAME = "programs"


class ForkedPrograms:
    """Starts programs as forks. `channel` leads to the zygote, `account` is the user of the programs."""

    def __init__(self, channel: socket.socket, account: Account) -> None:
        self._zygotes = ZygotePool(account)
        self._zygotes.take(_NAME, channel)
        self._expected: set[str] = set()

    def expect(self, names: Iterable[str]) -> None:
        """Say which programs there are: the zygote ends when those of them that it may fork have been started."""
        self._expected = set(NAMES.intersection(names))
        self._end_if_done()

    def start(
        self,
        name: str,
        argv: Sequence[str],
        *,
        directory: str,
        environment: Mapping[str, str],
        streams: tuple[int, int, int],
        others: Container[int],
    ) -> int | None:
        """Start a program with the standard streams `streams`; return the process id of this process's new child.

        None if the program is none of `NAMES` or the zygote did not fork: then the caller starts it. `others` are the
        children that this process already has.
        """
        if name not in NAMES or tuple(argv[: len(COMMAND)]) != COMMAND:
            return None
        program = Program((COMMAND[0].rpartition("/")[2], *argv[1:]), directory, environment, streams, {}, oom_score=0)
        try:
            report = socket.socket(fileno=self._zygotes.fork(_NAME, program))
        except NoZygoteError:
            return None
        with report:
            pid = self._await(report, others)
        self._expected = self._expected - {name} if pid else set()
        self._end_if_done()
        return pid

    def _end_if_done(self) -> None:
        if not self._expected:
            self._zygotes.close(_NAME)

    def _await(self, report: socket.socket, others: Container[int]) -> int | None:
        poll = select.poll()
        poll.register(report, select.POLLIN)
        if not poll.poll(FORK_SECONDS * 1000):
            report.shutdown(socket.SHUT_RD)  # what is forked from now on ends, as it cannot report
        try:
            return self._zygotes.born(report.fileno(), others) or None
        except BlockingIOError:
            return None
