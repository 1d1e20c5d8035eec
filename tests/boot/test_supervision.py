"""The supervisor starts at once, gives programs without a user to the agent, and ends them on a signal."""

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from supervisor.options import ServerOptions
from supervisor.poller import PollPoller

from sandbox_server.boot.supervision import EXIT_HOOK_FAILED, EagerPoller, assign_users
from sandbox_server.drivers.spawn.child_setup import NICE
from tests.patience import PATIENCE_SECONDS, until

WAIT_SECONDS = 0.2
"""Seconds that a turn waits in these tests."""

CONFIGURATION = """
[supervisord]
nodaemon = true
silent = true
logfile = /dev/null
logfile_maxbytes = 0
pidfile = {folder}/pid
childlogdir = {folder}
user = {user}

[program:writer]
command = /bin/sh -c 'cd {folder}; echo $$ >shell; id -u >uid; nice >nice; ls -nL /dev/stderr >pipe; echo hello >/dev/stdout; exec sleep 99'
stdout_logfile = {folder}/output
stopwaitsecs = 2
autorestart = true
"""


ENVIRONMENT = {"PATH": "/usr/bin:/bin", "PYTHONPATH": os.getcwd()}
"""What the supervisors of these tests are started with."""
PRELUDE = """
import os, sys
from sandbox_server.boot import early_start, hooks
from sandbox_server.boot.supervision import supervise
from sandbox_server.drivers.spawn.child_setup import Account
agent = Account.named("gem") if os.geteuid() == 0 else Account.current()
theirs = {"PATH": "/home/gem/.local/bin:/usr/bin:/bin", "HOME": "/home/gem", "WORKSPACE": "/home/gem", "GREETING": "hello"}
"""
PLAIN = PRELUDE + "supervise(sys.argv[1], agent, theirs)"


@dataclass
class Process:
    """A program's configuration."""

    uid: int | None


def test_a_program_without_a_user_is_the_agents_and_one_with_a_user_keeps_it() -> None:
    processes = [Process(None), Process(0), Process(990)]
    assign_users(processes, 1000, root=True)
    assert [process.uid for process in processes] == [1000, 0, 990]


def test_without_root_no_program_changes_its_user() -> None:
    processes = [Process(None), Process(0), Process(990)]
    assign_users(processes, 1000, root=False)
    assert [process.uid for process in processes] == [None, None, None]


@pytest.fixture
def eager() -> Iterator[EagerPoller]:
    """A poller that has taken its first turns."""
    handler = signal.signal(signal.SIGUSR1, lambda *_: None)
    made = EagerPoller(ServerOptions())
    yield made
    made.close()
    signal.signal(signal.SIGUSR1, handler)


def waited(eager: EagerPoller) -> bool:
    """Whether a turn is given time and nothing ends it."""
    turns: list[bool] = []
    poll = PollPoller.poll

    def noted(poller: PollPoller, timeout: float) -> tuple[list[int], list[int]]:
        found: tuple[list[int], list[int]] = poll(poller, timeout)
        turns.append(timeout > 0 and found == ([], []))
        return found

    with pytest.MonkeyPatch.context() as watched:
        watched.setattr(PollPoller, "poll", noted)
        eager.poll(WAIT_SECONDS)
    return turns == [True]


def test_the_first_turns_do_not_wait_and_the_next_ones_do(eager: EagerPoller) -> None:
    assert [waited(eager) for _ in range(4)] == [False, False, True, True]


def test_a_signal_ends_the_wait_and_the_next_two(eager: EagerPoller) -> None:
    for _ in range(3):
        eager.poll(0)
    signal.raise_signal(signal.SIGUSR1)
    assert [waited(eager) for _ in range(4)] == [False, False, False, True]


def test_a_signal_is_no_news_of_a_descriptor(eager: EagerPoller) -> None:
    eager.poll(0)
    signal.raise_signal(signal.SIGUSR1)
    assert eager.poll(WAIT_SECONDS) == ([], [])


@dataclass(frozen=True)
class Supervisor:
    """A running supervisor and the directory that its program writes to."""

    process: subprocess.Popen[bytes]
    folder: Path
    agent_uid: int

    def read(self, name: str) -> str:
        """What the program wrote."""
        file = self.folder / name
        return file.read_text().strip() if file.exists() else ""


@pytest.fixture
def supervisor(tmp_path: Path) -> Iterator[Supervisor]:
    """A supervisor with one program."""
    for folder in (tmp_path, *tmp_path.parents[:2]):
        folder.chmod(0o777 if folder == tmp_path else 0o755)
    agent_uid = 1000 if os.geteuid() == 0 else os.geteuid()
    (tmp_path / "conf").write_text(CONFIGURATION.format(folder=tmp_path, user=os.geteuid()))
    with subprocess.Popen([sys.executable, "-c", PLAIN, f"{tmp_path}/conf"], env=ENVIRONMENT) as process:
        yield Supervisor(process, tmp_path, agent_uid)
        process.kill()


def test_programs_start_at_once_as_the_agent_and_can_open_their_own_output(supervisor: Supervisor) -> None:
    until(lambda: supervisor.read("output"))
    assert (supervisor.read("output"), supervisor.read("uid")) == ("hello", str(supervisor.agent_uid))
    assert supervisor.read("nice") == str(NICE if os.geteuid() == 0 else 0)


def test_nobody_else_can_open_a_programs_output(supervisor: Supervisor) -> None:
    until(lambda: supervisor.read("output"))
    assert supervisor.read("pipe").split()[:3] == ["prw-------", "1", str(supervisor.agent_uid)]


def test_a_program_that_is_killed_starts_anew(supervisor: Supervisor) -> None:
    until(lambda: supervisor.read("output"))
    before = int(supervisor.read("shell"))
    os.kill(before, signal.SIGKILL)
    until(lambda: supervisor.read("shell") not in ("", str(before)))


def test_a_signal_ends_the_programs_and_then_the_supervisor(supervisor: Supervisor) -> None:
    until(lambda: supervisor.read("output"))
    supervisor.process.send_signal(signal.SIGTERM)
    assert supervisor.process.wait(PATIENCE_SECONDS) == 0


EARLY = """
[program:early]
command = /bin/sh -c 'echo $$ >>{folder}/early; echo waiting; exec sleep 600'
user = {account}
priority = 20
stdout_logfile = {folder}/early-output
redirect_stderr = true
autorestart = true
stopwaitsecs = 2

[program:late]
command = /bin/sh -c 'echo $$ >{folder}/late; exec sleep 600'
priority = 30
stopwaitsecs = 2
"""

ADOPT = PRELUDE + 'supervise(sys.argv[1], agent, theirs, early=early_start.start("early", sys.argv[1]))'


@pytest.fixture
def adopting(tmp_path: Path) -> Iterator[Supervisor]:
    """A supervisor of three programs, one of which had an early start and never says that it serves."""
    for folder in (tmp_path, *tmp_path.parents[:2]):
        folder.chmod(0o777 if folder == tmp_path else 0o755)
    agent_uid = 1000 if os.geteuid() == 0 else os.geteuid()
    given = {"folder": tmp_path, "user": os.geteuid(), "account": "control" if os.geteuid() == 0 else os.geteuid()}
    first = CONFIGURATION.format(**given).replace("stopwaitsecs", "priority = 10\nstopwaitsecs")
    (tmp_path / "conf").write_text(first + EARLY.format(**given))
    with subprocess.Popen([sys.executable, "-c", ADOPT, f"{tmp_path}/conf"], env=ENVIRONMENT) as process:
        yield Supervisor(process, tmp_path, agent_uid)
        process.kill()


def test_the_program_with_the_early_start_is_adopted_and_not_started_twice(adopting: Supervisor) -> None:
    until(lambda: adopting.read("early-output") and adopting.read("output"))
    assert adopting.read("early-output") == "waiting"
    assert len(adopting.read("early").split()) == 1


def test_the_program_that_was_adopted_starts_anew_when_it_ends(adopting: Supervisor) -> None:
    until(lambda: adopting.read("early-output") and adopting.read("output"))
    os.kill(int(adopting.read("early")), signal.SIGKILL)
    until(lambda: len(adopting.read("early").split()) == 2)
    until(lambda: adopting.read("early-output").split() == ["waiting", "waiting"])


def test_what_comes_later_waits_for_it(adopting: Supervisor) -> None:
    until(lambda: adopting.read("early-output") and adopting.read("output"))
    assert adopting.read("late") == ""
    os.kill(int(adopting.read("early")), signal.SIGKILL)  # that closes its gate, as it does itself once it serves
    until(lambda: adopting.read("late"))


def test_a_signal_ends_the_program_that_was_adopted_too(adopting: Supervisor) -> None:
    until(lambda: adopting.read("early-output") and adopting.read("output"))
    adopting.process.send_signal(signal.SIGTERM)
    assert adopting.process.wait(PATIENCE_SECONDS) == 0
    assert not Path("/proc", adopting.read("early")).exists()


SHARING = """
[program:early]
command = {python} {folder}/early.py {zygote}
user = {account}
priority = 20
stdout_logfile = {folder}/early-output
redirect_stderr = true
stopwaitsecs = 2

[program:mcp]
command = /opt/venv/bin/python -I -m sandbox_server --help
user = {account}
environment = OWN="x"
directory = {folder}
priority = 30
startsecs = 0
autorestart = false
stdout_logfile = {folder}/mcp-output
redirect_stderr = true
stopwaitsecs = 2
"""
LEAVES = """
import os, sys, time
from sandbox_server.boot import program_zygote
program_zygote.is_gvisor = lambda: sys.argv[1] == "none"
words = program_zygote.leave_behind()
if words is None:
    os.close(int(os.environ["SANDBOX_GATE"]))
else:
    print("forked", *words, os.getppid(), os.environ["OWN"], os.getcwd(), flush=True)
time.sleep(600)
"""


@pytest.fixture(params=["zygote", "none"])
def sharing(tmp_path: Path, request: pytest.FixtureRequest) -> Iterator[Supervisor]:
    """A supervisor whose early program leaves a zygote behind, or is in gVisor."""
    for folder in (tmp_path, *tmp_path.parents[:2]):
        folder.chmod(0o777 if folder == tmp_path else 0o755)
    account = "control" if os.geteuid() == 0 else os.geteuid()
    given = {"folder": tmp_path, "user": os.geteuid(), "account": account, "python": sys.executable, "zygote": request.param}
    (tmp_path / "early.py").write_text(f"import sys; sys.path.append({os.getcwd()!r}){LEAVES}")
    (tmp_path / "conf").write_text((CONFIGURATION + SHARING).format(**given))
    with subprocess.Popen([sys.executable, "-c", ADOPT, f"{tmp_path}/conf"], env=ENVIRONMENT) as process:
        yield Supervisor(process, tmp_path, 1000 if os.geteuid() == 0 else os.geteuid())
        process.kill()


def test_a_program_that_shares_its_imports_is_forked_by_the_zygote_and_starts_by_itself_without_one(
    sharing: Supervisor, request: pytest.FixtureRequest
) -> None:
    until(lambda: sharing.read("mcp-output"))
    if request.node.callspec.params["sharing"] == "zygote":
        assert sharing.read("mcp-output") == f"forked --help {sharing.process.pid} x {sharing.folder}"
    else:
        assert sharing.read("mcp-output").startswith("usage: sandbox")
    sharing.process.send_signal(signal.SIGTERM)
    assert sharing.process.wait(PATIENCE_SECONDS) == 0


HOOKED = """
[program:spawner]
command = /bin/sh -c 'echo $$ >{folder}/spawner; exec sleep 600'
user = {account}
priority = 10
stopwaitsecs = 2

[program:shown]
command = /bin/sh -c 'env >{folder}/shown-environ; exec sleep 600'
user = {account}
stopwaitsecs = 2
environment = HOME="/own"

[program:added]
command = /bin/sh -c 'env >{folder}/added-environ; exec sleep 600'
priority = 1
stopwaitsecs = 2
"""
HOOK = (
    PRELUDE
    + """
import subprocess
waits = f"until [ -f {sys.argv[2]}/end ]; do sleep 0.02; done; read code <{sys.argv[2]}/end; exit $code"
before = hooks.HookRun(subprocess.Popen(["/bin/sh", "-c", waits]), subprocess.Popen("true"), sys.argv[3] == "strict")
go = lambda: open(f"{sys.argv[2]}/told", "w").close()
sys.exit(supervise(sys.argv[1], agent, theirs, before=before, go=go))
"""
)


@pytest.fixture(params=["strict", "lenient"])
def hooked(tmp_path: Path, request: pytest.FixtureRequest) -> Iterator[Supervisor]:
    """A supervisor whose hooks end with what is written to the file `end`."""
    for folder in (tmp_path, *tmp_path.parents[:2]):
        folder.chmod(0o777 if folder == tmp_path else 0o755)
    account = "control" if os.geteuid() == 0 else os.geteuid()
    given = {"folder": tmp_path, "user": os.geteuid(), "account": account}
    (tmp_path / "conf").write_text((CONFIGURATION + HOOKED).format(**given))
    command = [sys.executable, "-c", HOOK, f"{tmp_path}/conf", str(tmp_path), request.param]
    with subprocess.Popen(command, env=ENVIRONMENT) as process:
        yield Supervisor(process, tmp_path, 1000 if os.geteuid() == 0 else os.geteuid())
        process.kill()


def end_hooks(supervisor: Supervisor, code: int) -> None:
    """Have the hooks end."""
    draft = supervisor.folder / "draft"
    draft.write_text(f"{code}\n")
    draft.rename(supervisor.folder / "end")


def test_before_the_hooks_have_ended_only_what_they_need_runs(hooked: Supervisor) -> None:
    until(lambda: hooked.read("spawner"))
    assert (hooked.read("output"), hooked.read("added-environ")) == ("", "")
    assert not (hooked.folder / "told").exists()
    end_hooks(hooked, 0)
    until(lambda: hooked.read("output") and hooked.read("added-environ"))
    assert (hooked.folder / "told").exists()


def test_hooks_that_fail_stop_the_container_where_that_is_asked_for_and_nowhere_else(
    hooked: Supervisor, request: pytest.FixtureRequest
) -> None:
    until(lambda: hooked.read("spawner"))
    end_hooks(hooked, 1)
    if "strict" in request.node.name:
        assert hooked.process.wait(PATIENCE_SECONDS) == EXIT_HOOK_FAILED
        assert not Path("/proc", hooked.read("spawner")).exists()
        assert (hooked.read("output"), (hooked.folder / "told").exists()) == ("", False)
    else:
        until(lambda: hooked.read("output"))


def test_a_signal_ends_what_runs_while_the_hooks_do(hooked: Supervisor) -> None:
    until(lambda: hooked.read("spawner"))
    hooked.process.send_signal(signal.SIGTERM)
    assert hooked.process.wait(PATIENCE_SECONDS) == 0
    assert hooked.read("output") == ""
    end_hooks(hooked, 0)


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can become somebody else")
def test_only_the_agents_programs_are_led_to_the_agents_files(hooked: Supervisor) -> None:
    end_hooks(hooked, 0)
    until(lambda: hooked.read("shown-environ") and hooked.read("added-environ"))
    shown, added = (dict(line.split("=", 1) for line in hooked.read(f"{name}-environ").splitlines()) for name in ("shown", "added"))
    assert (added["PATH"], added["HOME"], added["WORKSPACE"]) == ("/home/gem/.local/bin:/usr/bin:/bin", "/home/gem", "/home/gem")
    assert (shown["PATH"], shown["HOME"], shown["LOGNAME"], shown["GREETING"]) == ("/usr/bin:/bin", "/own", "control", "hello")
    assert "/home/gem" not in str(shown)


def test_a_wait_that_is_over_calls_back_once(eager: EagerPoller) -> None:
    calls: list[None] = []
    readable, writable = os.pipe()
    eager.call_once(readable, lambda: calls.append(None), 60)
    eager.poll(0)
    assert not calls
    os.close(writable)
    for _ in range(3):
        assert readable not in eager.poll(0)[0]
    assert len(calls) == 1
    os.close(readable)


def test_a_wait_that_takes_too_long_is_over(eager: EagerPoller) -> None:
    calls: list[None] = []
    readable, writable = os.pipe()
    eager.call_once(readable, lambda: calls.append(None), 0)
    eager.poll(0)
    assert len(calls) == 1
    os.close(readable)
    os.close(writable)
