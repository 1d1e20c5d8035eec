"""A refusal is told apart from a time-out, with the programs that the attacks use."""

import socket
import subprocess
import sys

import pytest

from tests.refusals import assert_not_timed_out, assert_refused

SILENT = "import socket, sys; s = socket.socket(); s.settimeout(0.1); s.connect(('127.0.0.1', {port})); s.recv(1)"


@pytest.mark.parametrize("command", ["exit 1", "cat /none", "test -e /none", "kill -0 0x", "curl -sS -m 60 http://127.0.0.1:1/"])
def test_what_says_no_is_refused(command: str) -> None:
    assert_refused(*ended("bash", "-c", command))


@pytest.mark.parametrize(
    ("command", "why"),
    [
        ("true", "it succeeded"),
        ("timeout 0.1 sleep 60", "its time was over"),
        ("there-is-no-such-program", "its program is not there"),
        ("kill -KILL $$", "it did not end by itself"),
        ("echo 'connect: Connection timed out' >&2; exit 1", "it took too long"),
    ],
)
def test_what_only_did_not_succeed_is_not(command: str, why: str) -> None:
    with pytest.raises(AssertionError, match=why):
        assert_refused(*ended("bash", "-c", command))


@pytest.mark.parametrize("program", ["curl", "python"])
def test_a_server_that_is_silent_has_refused_nothing(program: str) -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:
        port = silent.getsockname()[1]
        curl = ["curl", "-sS", "-m", "0.1", "--noproxy", "*", f"http://127.0.0.1:{port}/"]
        status, said = ended(*(curl if program == "curl" else [sys.executable, "-c", SILENT.format(port=port)]))
    with pytest.raises(AssertionError, match="too long" if program == "python" else "curl gave up waiting"):
        assert_refused(status, said)
    with pytest.raises(AssertionError, match="too long"):
        assert_not_timed_out(said)


def ended(*command: str) -> tuple[int | None, str]:
    """A command's status, None where a signal ended it as the API says it, and what it said."""
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    return (done.returncode if done.returncode >= 0 else None), done.stdout + done.stderr
