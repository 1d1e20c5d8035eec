"""What a forked child of the spawner does before it becomes the agent's program or file worker.

It imports little, and only from the standard library: the smaller the spawner, the faster it forks.
"""

import errno
import fcntl
import json
import os
import pwd
import resource
import signal
import socket
import stat
import sys
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import NoReturn, Protocol

from sandbox_server.drivers.box import namespaces
from sandbox_server.drivers.fence.fence import Fence, FenceError
from sandbox_server.drivers.ipc import descriptor_passing

OOM_SCORE = 500
"""The oom_score_adj of an agent process, so that the kernel kills it before the server's own when memory runs out."""
NICE = 10
"""The nice value of every agent process: a ninth of the weight of the product's and the desktop's, which have 0 (sched(7))."""
NO_NICE = (0, 0)
"""The RLIMIT_NICE of every agent process: none may raise its weight."""
UMASK = 0o022
SESSION = "TANDEM_SESSION"
"""The variable that names the session of a process and its descendants: `bash:ID` or `shell:ID`."""
WARM = "warm process"
"""The command line of a process that waits for its program."""
OF_THE_AGENT = frozenset({"SHELL", "USER", "WORKSPACE"})
"""Variables that name the agent and its directories. The server's own programs do not get `USER`, which they do not need."""
STANDARD = 3
FIRST_FREE = 16
"""A program's descriptors are below this number."""

LIMITS = {
    "nproc": resource.RLIMIT_NPROC,
    "nofile": resource.RLIMIT_NOFILE,
    "as": resource.RLIMIT_AS,
    "data": resource.RLIMIT_DATA,
    "core": resource.RLIMIT_CORE,
    "fsize": resource.RLIMIT_FSIZE,
    "cpu": resource.RLIMIT_CPU,
}
_DESCRIPTORS = resource.getrlimit(resource.RLIMIT_NOFILE)
# Python ignores SIGPIPE and SIGXFSZ, and a supervisor may ignore others; exec would pass that on.
_IGNORED = [number for number in signal.valid_signals() if signal.getsignal(number) == signal.SIG_IGN]


@dataclass(frozen=True)
class Account:
    """The user that a process runs as, resolved once at start, because the agent may be able to edit /etc/passwd."""

    name: str
    uid: int
    gid: int
    groups: tuple[int, ...]
    home: str

    @classmethod
    def named(cls, name: str) -> "Account":
        """Look up a user with all its groups; raises KeyError."""
        entry = pwd.getpwnam(name)
        groups = tuple(os.getgrouplist(name, entry.pw_gid))
        return cls(name, entry.pw_uid, entry.pw_gid, groups, entry.pw_dir)

    @classmethod
    def current(cls) -> "Account":
        """The current user, for a container without root. It may have no name."""
        uid, gid = os.getuid(), os.getgid()
        groups = tuple(os.getgroups())
        try:
            entry = pwd.getpwuid(uid)
        except KeyError:
            return cls(str(uid), uid, gid, groups, os.environ.get("HOME", "/"))
        return cls(entry.pw_name, uid, gid, groups, entry.pw_dir)


def own_environment(environment: Mapping[str, str], account: Account) -> dict[str, str]:
    """Return the environment for a process of the agent, given the agent's environment."""
    return {**environment, "HOME": account.home, "USER": account.name, "LOGNAME": account.name}


def closed_environment(environment: Mapping[str, str], account: Account) -> dict[str, str]:
    """Return the environment for a process of another account beside the agent, given the agent's environment.

    It names no file below the agent's home or workspace. So it has its own `PATH` and `HOME`, and drops variables that
    name libraries, packages or start-up files.
    """
    theirs = tuple(f"{environment[name].rstrip('/')}/" for name in ("HOME", "WORKSPACE") if environment.get(name, "/") != "/")
    path = [folder for folder in environment.get("PATH", os.defpath).split(":") if folder.startswith("/")]
    kept = {name: value for name, value in environment.items() if name not in OF_THE_AGENT and not _leads_to(value, theirs)}
    own = {"HOME": account.home, "LOGNAME": account.name, "PATH": ":".join(folder for folder in path if not _leads_to(folder, theirs))}
    return kept | own


def _leads_to(value: str, folders: tuple[str, ...]) -> bool:
    return any(f"{part}/".startswith(folders) for part in value.split(":"))


@dataclass(frozen=True)
class Program:
    """A program to execute. `cwd` None means the workspace; `fds` become descriptors 0, 1, 2 and so on."""

    argv: Sequence[str]
    cwd: str | None
    environment: Mapping[str, str]
    fds: tuple[int, ...]
    limits: Mapping[str, int]
    fence: Fence | None = None
    oom_score: int = OOM_SCORE
    nice: int = NICE


class ProcessNamespace(Protocol):
    """The namespaces that a process is started in, such as a box."""

    def enter(self) -> None:
        """Move this process there permanently."""


def become(account: Account, place: ProcessNamespace | None = None, fence: Fence | None = None) -> None:
    """Turn this process into `account` permanently, in `place` if given. A `fence` makes its namespaces on the way.

    Without root the process keeps its user.
    """
    if place:
        place.enter()
    if fence:
        fence.separate(lambda: become(account))
    if os.geteuid() != 0:
        return
    os.setgroups(account.groups)
    os.setresgid(account.gid, account.gid, account.gid)
    os.setresuid(account.uid, account.uid, account.uid)


def allow_many_descriptors() -> None:
    """Raise this process's own limit of open files to its maximum. Children get the old limit."""
    _, most = _DESCRIPTORS
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))


def run_program(program: Program, account: Account, place: ProcessNamespace | None, report: int) -> NoReturn:
    """Become the program. A failure is written as JSON to `report`, which a successful exec closes."""
    stage = _StartStage()
    try:
        _leave_the_spawner(program.limits, program.oom_score, program.nice)
        let_open(program.fds[:STANDARD], account)
        report = put_in_place(program.fds, report)
        become(account, place, program.fence)
        _execute(program, stage)
    except Exception as failure:  # noqa: BLE001 - the top of a forked process: who asked for it is told
        os.write(report, describe_failure(failure, stage.subject))
    finally:
        os._exit(127)


def run_warm_process(
    channel: socket.socket, account: Account, place: ProcessNamespace | None, limits: Mapping[str, int], report: int
) -> NoReturn:
    """Become a process of `account` and wait on `channel` for a program, then run it as `run_program` does; end if none comes.

    It keeps no other descriptor of the spawner. The program's descriptors must be open to the account already.
    """
    stage = _StartStage()
    try:
        _leave_the_spawner(limits)
        namespaces.replace_arguments(WARM)
        become(account, place)
        os.chdir("/")
        report = _keep_only(channel, report)
        with socket.socket(fileno=STANDARD) as own:
            told, fds = descriptor_passing.receive(own)
        if told is not None:
            program = Program(**descriptor_passing.read_body(fds[0]), fds=tuple(fds[1:]), limits=limits)
            report = put_in_place(program.fds, report)
            _execute(program, stage)
    except Exception as failure:  # noqa: BLE001 - the top of a forked process: who asked for it is told
        os.write(report, describe_failure(failure, stage.subject))
    finally:
        os._exit(127)


def run_worker(
    serve: Callable[[socket.socket], None], sock: socket.socket, account: Account, place: ProcessNamespace | None, report: int
) -> NoReturn:
    """Become a process of `account` that serves files on `sock`. It keeps no other descriptor of the spawner."""
    status = 1
    try:
        _leave_the_spawner({})
        become(account, place)
        os.chdir("/")
        kept = os.dup2(sock.fileno(), 3)
        os.closerange(4, os.sysconf("SC_OPEN_MAX"))
        with socket.socket(fileno=kept) as own:
            serve(own)
        status = 0
    except Exception as failure:  # noqa: BLE001 - the top of a forked process: who asked for it is told
        with suppress(OSError):  # closed once the worker serves
            os.write(report, describe_failure(failure, "process"))
        sys.excepthook(type(failure), failure, failure.__traceback__)
    finally:
        os._exit(status)


def let_open(fds: Sequence[int], account: Account) -> None:
    """Give pipes to the account, because a program that opens /dev/stdout opens the pipe again and needs permission.

    The owner, because gVisor's pipes have a mode that cannot be set.
    """
    for fd in fds:
        if os.geteuid() == 0 and stat.S_ISFIFO(os.fstat(fd).st_mode):
            os.fchown(fd, account.uid, account.gid)


def own_pid(pid: int) -> int:
    """Return a child's process id in its own namespace, while it is not reaped (NSpid, proc_pid_status(5))."""
    with suppress(OSError), open(f"/proc/{pid}/status", "rb") as status:
        for line in status:
            if line.startswith(b"NSpid:"):
                return int(line.split()[1:][:2][-1])
    return pid


def _leave_the_spawner(limits: Mapping[str, int], oom_score: int = OOM_SCORE, nice: int = NICE) -> None:
    os.setsid()
    signal.set_wakeup_fd(-1)
    for number in (*_IGNORED, signal.SIGCHLD, signal.SIGTERM, signal.SIGINT):
        signal.signal(number, signal.SIG_DFL)
    signal.pthread_sigmask(signal.SIG_SETMASK, ())
    os.umask(UMASK)
    offer_to_the_oom_killer(oom_score)
    yield_the_processor(nice)
    resource.setrlimit(resource.RLIMIT_NOFILE, _DESCRIPTORS)
    for name, value in limits.items():
        resource.setrlimit(LIMITS[name], (value, value))


class _StartStage:
    """The step that is running, for the error message if it fails."""

    subject = "process"


def _keep_only(channel: socket.socket, report: int) -> int:
    """Move the channel and then the report right behind the standard descriptors, close all others, and return the report."""
    kept = [_out_of_the_way(fd) for fd in (channel.fileno(), report)]
    for target, fd in enumerate(kept, start=STANDARD):
        os.dup2(fd, target, inheritable=False)
    os.closerange(STANDARD + len(kept), os.sysconf("SC_OPEN_MAX"))
    return STANDARD + 1


def put_in_place(fds: Sequence[int], report: int) -> int:
    """Make `fds` the descriptors 0, 1, 2 and so on; return the new number of `report`."""
    report, *sources = (_out_of_the_way(fd) for fd in (report, *fds))
    for target, fd in enumerate(sources):
        os.dup2(fd, target)
    return report


def _execute(program: Program, stage: _StartStage) -> NoReturn:
    stage.subject = "cwd"
    enter_directory(program.cwd, program.environment)
    if program.fence:
        program.fence.close()
    stage.subject = "program"
    os.execvpe(program.argv[0], list(program.argv), dict(program.environment))


def _out_of_the_way(fd: int) -> int:
    """Copy a descriptor to a number that is not about to be replaced."""
    return fcntl.fcntl(fd, fcntl.F_DUPFD_CLOEXEC, FIRST_FREE)


def offer_to_the_oom_killer(score: int) -> None:
    """Set this process's oom_score_adj (proc_pid_oom_score_adj(5)), if permitted."""
    with suppress(OSError):
        fd = os.open("/proc/self/oom_score_adj", os.O_WRONLY | os.O_CLOEXEC)
        os.write(fd, b"%d" % score)
        os.close(fd)


def yield_the_processor(nice: int) -> None:
    """Lower this process's weight to a nice value, permanently: without CAP_SYS_NICE in the container, nothing raises it again.

    A limit that the engine allows (RLIMIT_NICE, getrlimit(2)) is taken away, because the process could raise it by that.
    """
    os.setpriority(os.PRIO_PROCESS, 0, max(nice, os.getpriority(os.PRIO_PROCESS, 0)))
    if nice and resource.getrlimit(resource.RLIMIT_NICE) != NO_NICE:  # gVisor refuses every change
        resource.setrlimit(resource.RLIMIT_NICE, NO_NICE)


def enter_directory(cwd: str | None, environment: Mapping[str, str]) -> None:
    """Change to a directory; None means the first usual one that exists. Raises OSError for a named one."""
    if cwd is not None:
        os.chdir(cwd)
        return
    for usual in (environment.get("WORKSPACE"), environment.get("HOME"), "/"):
        with suppress(OSError):
            os.chdir(usual or "")
            return


def describe_failure(failure: Exception, subject: str) -> bytes:
    """Encode for the spawner's client why a process did not start."""
    number, reason, more = errno.EINVAL, str(failure), {}
    if isinstance(failure, OSError):
        number, reason = failure.errno or errno.EIO, failure.strerror or reason
    if isinstance(failure, FenceError):
        subject, more = "isolation", {"field": failure.field}
    return json.dumps({"error": number, "message": reason[:500], "subject": subject, **more}).encode()
