"""The supervisor, in this process: Supervisor 4 with four rules of ours.

It starts programs at once instead of after its first poll, which waits a second. A program that names no user runs as the
agent, because the configuration may have come from anywhere. Without root, nobody changes user at all. A program that is
not root may open /dev/stdout and /dev/stderr, as nginx does.
"""

import os
from collections.abc import Iterable, Sequence
from contextlib import suppress

from supervisor import poller
from supervisor.medusa import asyncore_25 as asyncore
from supervisor.options import ProcessGroupConfig, ServerOptions
from supervisor.states import SupervisorStates
from supervisor.supervisord import Supervisor

_EAGER_POLLS = 2
"""The first starts the programs, the second reads what they said at once."""


class EagerPoller(poller.Poller):  # type: ignore[misc] # the package has no types
    """Does not wait the first times."""

    eager = _EAGER_POLLS

    def poll(self, timeout: float) -> tuple[Sequence[int], Sequence[int]]:
        """Wait for descriptors; supervisor.poller documents the rest."""
        if self.eager:
            self.eager -= 1
            timeout = 0
        ready: tuple[Sequence[int], Sequence[int]] = super().poll(timeout)
        return ready


class Options(ServerOptions):  # type: ignore[misc]
    """The supervisor's options, where a program without a user is the agent's."""

    def __init__(self, agent_uid: int) -> None:
        super().__init__()
        self._agent_uid = agent_uid
        self.poller = EagerPoller(self)

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
