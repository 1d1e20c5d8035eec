"""The programs' zygote forks programs as the supervisor's children, before anything secret is known."""

import json
import os
import socket
from collections.abc import Iterator
from pathlib import Path

import pytest

from sandbox_server.boot import program_zygote
from sandbox_server.boot.early_start import ZYGOTE_VARIABLE
from sandbox_server.boot.program_zygote import TITLE
from tests.boot.zygotes import Left, children_of, read
from tests.patience import until


@pytest.fixture
def left() -> Iterator[Left]:
    """A zygote."""
    left = Left()
    yield left
    left.end()


def test_a_program_is_forked_as_a_child_of_who_asked_with_nothing_of_the_zygote(left: Left) -> None:
    pid, reading = left.start("mcp", "status")
    told = json.loads(read(reading))

    assert (told["pid"], told["parent"], told["cwd"]) == (pid, os.getpid(), "/")
    assert told["environ"] == {"PATH": "/usr/bin", "OWN": "x"}
    assert told["open"] == ["/dev/null", "pipe", "pipe"]
    assert told["NoNewPrivs"] == "1"
    assert told["command"].startswith("python -I -m sandbox_serv")


def test_what_the_program_that_left_it_learns_later_is_not_in_the_zygote(left: Left) -> None:
    assert "SECRET" not in Path(f"/proc/{left.zygote}/environ").read_text()
    _, reading = left.start("mcp", "status")
    assert "SECRET" not in json.loads(read(reading))["environ"]


def test_without_a_channel_and_in_gvisor_nothing_is_left_behind(monkeypatch: pytest.MonkeyPatch) -> None:
    before = children_of(os.getpid())
    assert program_zygote.leave_behind() is None
    monkeypatch.setattr(program_zygote, "is_gvisor", lambda: True)
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    monkeypatch.setenv(ZYGOTE_VARIABLE, str(theirs.detach()))

    assert program_zygote.leave_behind() is None
    with ours:
        assert ours.recv(1) == b""
    assert children_of(os.getpid()) == before


def test_the_zygote_has_a_name_of_its_own(left: Left) -> None:
    until(lambda: Path(f"/proc/{left.zygote}/cmdline").read_bytes().rstrip(b"\0") == TITLE.encode())
