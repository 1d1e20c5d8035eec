"""The supervisor, in this process: Supervisor 4 with ten changes.

1. It acts at once, at the start and on every signal, where Supervisor waits for up to a second. Measured on two busy cores, the fastest of
   20 starts: the first command runs after 1.6 s, and after 3.0 s where it waits.
2. It adopts the program that boot started early.
3. If there are hooks, it starts what they need first, and everything else once they have ended.
4. Programs after the gateway in the order of priorities start once the early program serves, so that they do not compete for the processor.
5. A program that names no user runs as the agent, because the configuration may have come from anywhere.
6. A program that runs as another user gets an environment without any path that the agent can write.
7. Without root, no program changes its user.
8. A program that is not root may open /dev/stdout and /dev/stderr, as nginx does.
9. A program that runs as the agent has the weight of the agent's processes.
10. At the start, the programs that share their imports are forked from a zygote, where there is one.

`tests/boot/test_supervisor_internals.py` checks that the internal names of Supervisor that this module uses still exist.
"""

import os
import pwd
import shlex
import signal
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from enum import IntEnum
from functools import partial

from supervisor import poller
from supervisor.medusa import asyncore_25 as asyncore
from supervisor.options import ProcessConfig, ProcessGroupConfig, ServerOptions
from supervisor.states import SupervisorStates
from supervisor.supervisord import Supervisor

from sandbox_server import timeouts
from sandbox_server.boot import hooks
from sandbox_server.boot.early_start import EarlyStart, Pipes
from sandbox_server.boot.forked_programs import ForkedPrograms
from sandbox_server.boot.hooks import HookRun
from sandbox_server.drivers.spawn import child_setup
from sandbox_server.drivers.spawn.child_setup import Account, closed_environment, let_open
from sandbox_server.timeouts import scaled

FIRST_PRIORITY = 22
"""The highest priority number that starts at once: the gateway's."""
REST_SECONDS = scaled(10.0)
"""Seconds after which the rest starts, even if the early program does not serve yet."""
EXIT_HOOK_FAILED = 3
_EAGER_TURNS = 2
"""Turns of Supervisor's loop until it acts on an event: it learns of it in the first and acts in the second."""


type MakeDispatchers = Callable[[object], tuple[object, Pipes]]
"""How Supervisor makes what reads a program's output, and the pipes for it."""


class Stage(IntEnum):
    """The stages of the start."""

    HOOKS = 0
    """Only what the hooks need runs, and the hooks."""
    FIRST = 1
    """Programs with a priority up to `FIRST_PRIORITY` run."""
    ALL = 2


class EagerPoller(poller.PollPoller):  # type: ignore[misc] # the package has no types
    """A poller that does not wait at the start, nor after a signal."""

    def __init__(self, options: ServerOptions) -> None:
        super().__init__(options)
        self._eager_turns = _EAGER_TURNS
        self._woken = self._wakes = -1
        self._awaited: int | None = None
        self._deadline = 0.0
        self._then: Callable[[], None] = lambda: None

    def call_once(self, fd: int, then: Callable[[], None], seconds: float) -> None:
        """Call `then` when the descriptor can be read, or after `seconds`."""
        self._awaited, self._then, self._deadline = fd, then, time.monotonic() + seconds
        self.register_readable(fd)

    def poll(self, timeout: float) -> tuple[Sequence[int], Sequence[int]]:
        """Wait for descriptors; see supervisor.poller."""
        if self._woken < 0:  # not sooner: Supervisor closes descriptors before its first turn
            self._watch_signals()
        readable, writable = super().poll(0 if self._eager_turns else timeout)
        self._eager_turns = max(0, self._eager_turns - 1)
        if self._woken in readable:
            os.read(self._woken, 4096)
            self._eager_turns = _EAGER_TURNS
        own = {self._woken, self._awaited}
        if self._awaited is not None and (self._awaited in readable or time.monotonic() > self._deadline):
            self.unregister_readable(self._awaited)
            self._awaited, self._eager_turns = None, _EAGER_TURNS
            self._then()
        return [fd for fd in readable if fd not in own], writable

    def _watch_signals(self) -> None:
        """Let each signal end the wait, which Python would otherwise resume (PEP 475)."""
        self._woken, self._wakes = os.pipe2(os.O_NONBLOCK | os.O_CLOEXEC)
        signal.set_wakeup_fd(self._wakes, warn_on_full_buffer=False)
        self.register_readable(self._woken)

    def close(self) -> None:
        """Close the descriptors."""
        if self._woken >= 0:
            signal.set_wakeup_fd(-1)
            os.close(self._woken)
            os.close(self._wakes)


class Options(ServerOptions):  # type: ignore[misc]
    """Supervisor's options, with the agent as the default user.

    `early` is the adopted program; `before` runs the hooks; `forked` starts what the zygote forks.
    """

    def __init__(
        self,
        agent: Account,
        environment: Mapping[str, str],
        early: EarlyStart | None,
        before: HookRun | None,
        forked: ForkedPrograms | None,
    ) -> None:
        super().__init__()
        self.environ_expansions |= {f"ENV_{name}": value for name, value in environment.items()}
        self._on_hooks_end: Callable[[int], None] = lambda _: None
        self._agent = agent
        self._environment = environment
        self._early = early
        self._before = before
        self._of_hooks = {before.pid, before.copier.pid} if before else set()
        self._adopted: EarlyStart | None = None
        self._forked = forked
        self._starting: tuple[ProcessConfig, Pipes] | None = None
        self.poller = EagerPoller(self)

    def when_hooks_end(self, call: Callable[[int], None]) -> None:
        """Call `call` with the exit code of the process that runs the hooks."""
        self._on_hooks_end = call

    def set_uid_or_exit(self) -> None:
        """Become the configured user, root, if this process may."""
        if os.geteuid() == 0:
            super().set_uid_or_exit()

    def drop_privileges(self, user: int) -> str | None:
        """Become a program's user in its process. The agent's programs yield the processor to others. Returns what failed."""
        if user == self._agent.uid:
            child_setup.yield_the_processor(child_setup.NICE)
        failure: str | None = super().drop_privileges(user)
        return failure

    def make_logger(self) -> None:
        """Open the log, without Supervisor's notes about its configuration files and about running as root."""
        self.parse_infos.clear()
        super().make_logger()

    def openhttpservers(self, supervisord: Supervisor) -> None:
        """Open the control socket, without Supervisor's warning about its missing password: its directory is root's."""
        critical, self.logger.critical = self.logger.critical, self.logger.debug
        try:
            super().openhttpservers(supervisord)
        finally:
            self.logger.critical = critical

    def make_pipes(self, stderr: bool = True) -> Pipes:
        """Make a program's pipes, or take those of the adopted program."""
        pipes: Pipes = self._adopted.pipes if self._adopted else super().make_pipes(stderr)
        return pipes

    def process_groups_from_parser(self, parser: object) -> list[ProcessGroupConfig]:
        """Read the programs of the configuration."""
        groups: list[ProcessGroupConfig] = super().process_groups_from_parser(parser)
        processes = [process for group in groups for process in group.process_configs]
        assign_environments(processes, self._agent, self._environment)
        assign_users(processes, self._agent.uid, root=os.geteuid() == 0)
        if self._forked:
            self._forked.expect(process.name for process in processes)
        for process in processes:
            make = process.make_dispatchers
            if self._early and process.name == self._early.name:
                make = partial(self._adopt, self._early, make)
            process.make_dispatchers = partial(self._make_dispatchers, process, make)
        return groups

    def waitpid(self) -> tuple[int | None, int | None]:
        """Reap a child. Neither the children of hooks nor a zygote that has ended well are programs of the supervisor."""
        pid, status = super().waitpid()
        if pid in self.pidhistory or (status and pid not in self._of_hooks):
            return pid, status
        self._of_hooks.discard(pid)
        if self._before and pid == self._before.pid:
            self._on_hooks_end(os.waitstatus_to_exitcode(status))
        return None, None

    def _adopt(self, early: EarlyStart, make: MakeDispatchers, process: object) -> tuple[object, Pipes]:
        """Make Supervisor take over the early program instead of starting it: replace its first pipes and its first fork."""
        if self._early:
            self._early, self._adopted = None, early
        return make(process)

    def _make_dispatchers(self, config: ProcessConfig, make: MakeDispatchers, process: object) -> tuple[object, Pipes]:
        """Make a program's pipes and what reads them, and remember whose they are: `fork` comes next."""
        dispatchers, pipes = _give_outputs(config, make, process)
        self._starting = config, pipes
        return dispatchers, pipes

    def fork(self) -> int:
        """Fork, or return the process id of the adopted program, or of one that the zygote has forked."""
        starting, self._starting = self._starting, None
        if self._adopted is not None:
            early, self._adopted = self._adopted, None
            return early.process.pid
        return (starting and self._fork_in_zygote(*starting)) or os.fork()

    def _fork_in_zygote(self, config: ProcessConfig, pipes: Pipes) -> int | None:
        stdin, stdout, stderr = (pipes[name] for name in ("child_stdin", "child_stdout", "child_stderr"))
        if config.redirect_stderr:
            stderr = stdout
        if not self._forked or stdin is None or stdout is None or stderr is None:
            return None
        return self._forked.start(
            config.name,
            shlex.split(config.command),
            directory=config.directory or "/",
            environment={**os.environ, **config.environment},
            streams=(stdin, stdout, stderr),
            others={*self.pidhistory, *self._of_hooks},
        )


class PatientSupervisor(Supervisor):  # type: ignore[misc]
    """Delays programs until the hooks have ended, and all but the first until the early program serves.

    `go` opens the early program's gate. `status` is the exit code for the container.
    """

    def __init__(self, options: Options, early: EarlyStart | None, before: HookRun | None, go: Callable[[], None]) -> None:
        super().__init__(options)
        self.status = 0
        self._early = early
        self._before = before
        self._go = go
        self._later: list[ProcessGroupConfig] = []
        self._stage = Stage.HOOKS
        options.when_hooks_end(self._on_hooks_end)
        if not before:
            self._begin_services()

    def add_process_group(self, config: ProcessGroupConfig) -> bool:
        """Add a group of programs, now or when its stage is reached."""
        if self._stage_of(config) > self._stage:
            self._later.append(config)
            return False
        added: bool = super().add_process_group(config)
        return added

    def _stage_of(self, config: ProcessGroupConfig) -> Stage:
        if config.name in hooks.NEEDED or (self._early and config.name == self._early.name):
            return Stage.HOOKS
        return Stage.FIRST if config.priority <= FIRST_PRIORITY else Stage.ALL

    def _on_hooks_end(self, code: int) -> None:
        failed, self._before = bool(code and self._before and self._before.strict), None
        if failed:
            self.status, self.options.mood = EXIT_HOOK_FAILED, SupervisorStates.SHUTDOWN
        else:
            self._begin_services()

    def _begin_services(self) -> None:
        self._go()
        self._reach(Stage.FIRST if self._early else Stage.ALL)
        if self._early:
            self.options.poller.call_once(self._early.gate.fileno(), partial(self._reach, Stage.ALL), REST_SECONDS)

    def _reach(self, stage: Stage) -> None:
        self._stage = stage
        if self.options.mood >= SupervisorStates.RUNNING:
            later, self._later = self._later, []
            for config in later:
                self.add_process_group(config)


def _give_outputs(config: ProcessConfig, make: MakeDispatchers, process: object) -> tuple[object, Pipes]:
    dispatchers, pipes = make(process)
    if config.uid is not None:
        let_open([end for end in (pipes["child_stdout"], pipes["child_stderr"]) if end is not None], _account(config.uid))
    return dispatchers, pipes


def _account(uid: int) -> Account:
    try:
        return Account.named(pwd.getpwuid(uid).pw_name)
    except KeyError:
        return Account(str(uid), uid, uid, (), "/")


def assign_environments(processes: Iterable[object], agent: Account, environment: Mapping[str, str]) -> None:
    """Set the whole environment of every program: the agent's own, or for other users a clean one with what is the product's."""
    for process in processes:
        uid = process.uid  # type: ignore[attr-defined]
        start_from = environment if uid in (None, agent.uid) else closed_environment(environment, _account(uid)) | timeouts.ENVIRONMENT
        process.environment = {**start_from, **(process.environment or {})}  # type: ignore[attr-defined]


def assign_users(processes: Iterable[object], agent_uid: int, *, root: bool) -> None:
    """Make the agent the user of every program that names none; without root, remove all users."""
    for process in processes:
        if not root:
            process.uid = None  # type: ignore[attr-defined]
        elif process.uid is None:  # type: ignore[attr-defined]
            process.uid = agent_uid  # type: ignore[attr-defined]


def supervise(
    configuration: str,
    agent: Account,
    environment: Mapping[str, str],
    *,
    early: EarlyStart | None = None,
    before: HookRun | None = None,
    go: Callable[[], None] = lambda: None,
) -> int:
    """Run the programs of `configuration` until a signal ends it, and return the container's exit code.

    SIGHUP restarts all of them. `early` is the program that already runs as a child of this process; `go` opens its
    gate. `before` runs the hooks. `environment` is the agent's.
    """
    path = closed_environment(environment, agent)["PATH"]
    forked = ForkedPrograms(early.zygote, Account.named(early.user) if os.geteuid() == 0 else Account.current()) if early else None
    os.environ.clear()  # programs get what `assign_environments` sets, and are found by its PATH
    os.environ["PATH"] = path
    adopted, first = early, True
    while True:
        options = Options(agent, environment, adopted, before, forked)
        options.realize(["--configuration", configuration])
        options.first, options.test = first, False
        supervisor = PatientSupervisor(options, adopted, before, go)
        with suppress(asyncore.ExitNow):
            supervisor.main()
        options.close_httpservers()
        options.close_logger()
        first, adopted, before = False, None, None
        if options.mood < SupervisorStates.RESTARTING:
            return supervisor.status
