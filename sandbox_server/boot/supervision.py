"""The supervisor, in this process: Supervisor 4 with four rules of ours.

It acts at once, at the start and on every signal, where Supervisor waits for up to a second. A program that names no user runs as the
agent, because the configuration may have come from anywhere. Without root, nobody changes user at all. A program that is
not root may open /dev/stdout and /dev/stderr, as nginx does.
"""

import os
import signal
from collections.abc import Iterable, Sequence
from contextlib import suppress

from supervisor import poller
from supervisor.medusa import asyncore_25 as asyncore
from supervisor.options import ProcessGroupConfig, ServerOptions
from supervisor.states import SupervisorStates
from supervisor.supervisord import Supervisor

_EAGER_TURNS = 2
"""Turns of Supervisor's loop that it takes to act on news: in the first it learns of them, in the second it acts."""


class EagerPoller(poller.PollPoller):  # type: ignore[misc] # the package has no types
    """Does not wait at the start, nor after a signal."""

    def __init__(self, options: ServerOptions) -> None:
        super().__init__(options)
        self._eager_turns = _EAGER_TURNS
        self._woken = self._wakes = -1

    def poll(self, timeout: float) -> tuple[Sequence[int], Sequence[int]]:
        """Wait for descriptors; supervisor.poller documents the rest."""
        if self._woken < 0:  # not sooner: Supervisor closes descriptors before its first turn
            self._watch_signals()
        readable, writable = super().poll(0 if self._eager_turns else timeout)
        self._eager_turns = max(0, self._eager_turns - 1)
        if self._woken in readable:
            os.read(self._woken, 4096)
            self._eager_turns = _EAGER_TURNS
        return [fd for fd in readable if fd != self._woken], writable

    def _watch_signals(self) -> None:
        """Let each signal end the wait: Python would resume it (PEP 475)."""
        self._woken, self._wakes = os.pipe2(os.O_NONBLOCK | os.O_CLOEXEC)
        signal.set_wakeup_fd(self._wakes, warn_on_full_buffer=False)
        self.register_readable(self._woken)

    def close(self) -> None:
        """Give the descriptors back."""
        if self._woken >= 0:
            signal.set_wakeup_fd(-1)
            os.close(self._woken)
            os.close(self._wakes)


class Options(ServerOptions):  # type: ignore[misc]
    """The supervisor's options, where a program without a user is the agent's."""

    def __init__(self, agent_uid: int) -> None:
        super().__init__()
        self._agent_uid = agent_uid
        self.poller = EagerPoller(self)

    def set_uid_or_exit(self) -> None:
        """Become the configured user, root, where there is somebody to become."""
        if os.geteuid() == 0:
            super().set_uid_or_exit()

    def make_logger(self) -> None:
        """Open the log. Which files the configuration came from, and that we are root, is no news: boot chose both."""
        self.parse_infos.clear()
        super().make_logger()

    def openhttpservers(self, supervisord: Supervisor) -> None:
        """Open the control socket. It is in a directory of root's, so the warning that it asks for no password is no news either."""
        critical, self.logger.critical = self.logger.critical, self.logger.debug
        try:
            super().openhttpservers(supervisord)
        finally:
            self.logger.critical = critical

    def make_pipes(self, stderr: bool = True) -> dict[str, int | None]:
        """Make a program's pipes. Their mode keeps nobody out: only by the program's own descriptors can they be reached."""
        pipes: dict[str, int | None] = super().make_pipes(stderr)
        for end in (pipes["child_stdout"], pipes["child_stderr"]):
            if end is not None:
                os.fchmod(end, 0o666)
        return pipes

    def process_groups_from_parser(self, parser: object) -> list[ProcessGroupConfig]:
        """Read the programs of the configuration."""
        groups: list[ProcessGroupConfig] = super().process_groups_from_parser(parser)
        assign_users((process for group in groups for process in group.process_configs), self._agent_uid, root=os.geteuid() == 0)
        return groups


def assign_users(processes: Iterable[object], agent_uid: int, *, root: bool) -> None:
    """Give every program without a user to the agent; without root, take all users away."""
    for process in processes:
        if not root:
            process.uid = None  # type: ignore[attr-defined]
        elif process.uid is None:  # type: ignore[attr-defined]
            process.uid = agent_uid  # type: ignore[attr-defined]


def supervise(configuration: str, agent_uid: int) -> None:
    """Run the programs of `configuration` until a signal ends it; SIGHUP starts all of them anew."""
    first = True
    while True:
        options = Options(agent_uid)
        options.realize(["--configuration", configuration])
        options.first, options.test = first, False
        with suppress(asyncore.ExitNow):
            Supervisor(options).main()
        options.close_httpservers()
        options.close_logger()
        first = False
        if options.mood < SupervisorStates.RESTARTING:
            return
