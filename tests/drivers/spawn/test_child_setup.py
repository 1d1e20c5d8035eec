"""What a forked process does before it is the agent's; what it is afterwards is in `test_spawner`."""

import json
import os
import pwd
from collections.abc import Callable
from dataclasses import replace

import pytest

from sandbox_server.drivers.spawn import child_setup
from sandbox_server.drivers.spawn.child_setup import Account, Program


def in_a_fork(work: Callable[[int], object]) -> tuple[int, bytes]:
    """Exit code of a fork that does `work`, and what it wrote to the descriptor it was given."""
    readable, writable = os.pipe()
    pid = os.fork()
    if pid == 0:
        try:
            work(writable)
        finally:
            os._exit(99)
    os.close(writable)
    with open(readable, "rb") as written:
        said = written.read()
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]), said


def program(**changes: object) -> Program:
    null = os.open(os.devnull, os.O_RDWR)
    return replace(Program(["true"], "/", {"PATH": "/usr/bin:/bin"}, (null, null, null), {}), **changes)  # type: ignore[arg-type]


def test_an_account_has_all_its_groups() -> None:
    gem = Account.named("gem")
    assert (gem.uid, gem.gid, gem.home) == (1000, 1000, "/home/gem")
    assert gem.gid in gem.groups
    with pytest.raises(KeyError):
        Account.named("nobody-of-that-name")


def test_whoever_runs_without_root_is_the_account_even_without_a_name() -> None:
    assert Account.current().uid == os.getuid()
    unnamed = next(uid for uid in range(40_000, 60_000) if uid not in {entry.pw_uid for entry in pwd.getpwall()})

    def tell(report: int) -> None:
        os.setuid(unnamed)
        os.write(report, repr(Account.current()).encode())

    assert f"uid={unnamed}".encode() in in_a_fork(tell)[1]


def test_becoming_an_account_cannot_be_undone() -> None:
    def try_to_return(report: int) -> None:
        child_setup.become(Account.named("gem"))
        os.write(report, json.dumps([os.getresuid(), os.getresgid(), os.getgroups()]).encode())
        os.setuid(0)
        os.write(report, b"returned")

    _, said = in_a_fork(try_to_return)
    assert json.loads(said) == [[1000] * 3, [1000] * 3, [1000]]


def test_a_program_that_runs_reports_nothing() -> None:
    gem = Account.named("gem")
    assert in_a_fork(lambda report: child_setup.run_program(program(argv=["sh", "-c", "exit 5"]), gem, None, report)) == (5, b"")


@pytest.mark.parametrize(
    ("changes", "subject"),
    [
        ({"argv": ["no-such-program"]}, "program"),
        ({"cwd": "/no/such"}, "cwd"),
        ({"limits": {"nofile": -5}}, "process"),
    ],
)
def test_a_program_that_cannot_run_reports_what_was_wrong(changes: dict[str, object], subject: str) -> None:
    gem = Account.named("gem")
    code, said = in_a_fork(lambda report: child_setup.run_program(program(**changes), gem, None, report))
    assert (code, json.loads(said)["subject"]) == (127, subject)


def test_what_is_not_the_agents_finds_no_program_and_no_configuration_of_the_agents() -> None:
    given = {
        "HOME": "/home/ada",
        "USER": "ada",
        "SHELL": "/bin/bash",
        "WORKSPACE": "/srv/work",
        "PATH": "/home/ada/.local/bin:/home/adam/bin::.:work/bin:/opt/tool/bin:/home/ada:/srv/work/bin:/usr/bin",
        "LD_LIBRARY_PATH": "/opt/lib:/home/ada/lib",
        "XDG_DATA_HOME": "/srv/work",
        "TZ": "Europe/Berlin",
    }
    desktop = Account("desktop", 991, 991, (991,), "/nonexistent")
    assert child_setup.closed_environment(given, desktop) == {
        "HOME": "/nonexistent",
        "LOGNAME": "desktop",
        "PATH": "/home/adam/bin:/opt/tool/bin:/usr/bin",
        "TZ": "Europe/Berlin",
    }


def test_without_a_path_the_systems_own_is_searched() -> None:
    assert child_setup.closed_environment({}, Account("root", 0, 0, (0,), "/root"))["PATH"] == os.defpath


def test_a_kernel_that_refuses_every_change_of_a_limit_starts_programs(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(_: int, limits: tuple[int, int]) -> None:
        raise ValueError(limits)

    def lower(said: int) -> None:
        child_setup.yield_the_processor(child_setup.NICE)
        os.write(said, b"%d" % os.getpriority(os.PRIO_PROCESS, 0))

    monkeypatch.setattr("resource.getrlimit", lambda _: child_setup.NO_NICE)
    monkeypatch.setattr("resource.setrlimit", refuse)
    assert in_a_fork(lower)[1] == b"10"
