"""A program with an early start is what the supervisor would have started."""

import json
import os
import signal
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from sandbox_server.boot import early_start
from sandbox_server.boot.early_start import EarlyStart
from sandbox_server.drivers.ipc import descriptor_passing
from tests.patience import PATIENCE_SECONDS

PROGRAM = """
; A comment.
[program:early]
command = {command} ; another
user = control
environment = OWN="a,b",MORE="c"
directory = /
priority = 20
"""
CONTROL = 990


type Begin = Callable[[str], EarlyStart]


@pytest.fixture
def begin(tmp_path: Path) -> Iterator[Begin]:
    """Starts a program from a configuration with the given command."""
    begun: list[EarlyStart] = []

    def begin(command: str) -> EarlyStart:
        configuration = tmp_path / "early.conf"
        configuration.write_text(PROGRAM.format(command=command))
        begun.append(early_start.start("early", str(configuration)))
        return begun[-1]

    yield begin
    for early in begun:
        early.gate.close()
        early.zygote.close()
        descriptor_passing.close_all([fd for fd in early.pipes.values() if fd is not None])


def output(early: EarlyStart) -> list[str]:
    """What it wrote until it ended."""
    early.process.wait(PATIENCE_SECONDS)
    return os.read(early.pipes["stdout"] or -1, 65536).decode().splitlines()


def test_an_early_program_has_the_command_and_directory_of_its_configuration(begin: Begin) -> None:
    assert output(begin("/bin/sh -c 'pwd; echo said >&2'")) == ["/", "said"]


def test_nothing_that_the_container_was_given_is_in_its_environment(begin: Begin, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SANDBOX_API_KEY", "secret")
    early = begin("/usr/bin/env")
    assert {line.partition("=")[0] for line in output(early)} == {*early_start.ENVIRONMENT, "OWN", "MORE", "SANDBOX_GATE", "SANDBOX_ZYGOTE"}


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can become somebody else")
def test_an_early_program_runs_only_as_the_user_of_its_configuration(begin: Begin) -> None:
    assert output(begin("/bin/sh -c 'id -u; id -G'")) == [str(CONTROL), " ".join(map(str, os.getgrouplist("control", CONTROL)))]


def test_no_signal_to_boots_own_group_reaches_it(begin: Begin) -> None:
    early = begin("/bin/sleep 60")
    assert os.getpgid(early.process.pid) == early.process.pid
    early.process.kill()
    assert early.process.wait(PATIENCE_SECONDS) == -signal.SIGKILL


GATED = (
    "%s -c 'import os, json; from sandbox_server.boot.readiness_gate import ReadinessGate; "
    "ReadinessGate.inherited().wait(); print(json.dumps(dict(os.environ)))'"
)


def test_an_early_program_waits_at_its_gate_and_then_gets_the_supervisors_environment(begin: Begin) -> None:
    early = begin(GATED % sys.executable)
    assert early.process.poll() is None
    early.go({"PATH": "/usr/bin", "GIVEN": "a\nb", "OWN": "not this"})
    assert {name: value for name, value in json.loads(output(early)[0]).items() if name != "SANDBOX_ZYGOTE"} == {
        **early_start.ENVIRONMENT,
        "PATH": "/usr/bin",
        "GIVEN": "a\nb",
        "OWN": "a,b",
        "MORE": "c",
    }


def test_to_let_one_go_that_has_ended_is_no_error(begin: Begin) -> None:
    early = begin("/bin/true")
    early.process.wait(PATIENCE_SECONDS)
    early.go({})
    assert early.gate.recv(1) == b""


def test_the_programs_of_the_image_are_found() -> None:
    assert os.path.isfile(early_start.configuration("api"))
