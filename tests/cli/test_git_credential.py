"""git's credential helper, also with real git."""

import asyncio
import io
import os
import subprocess
import sys
from collections.abc import AsyncIterator, Callable
from pathlib import Path

import pytest

from sandbox_server.cli import git_credential
from sandbox_server.drivers.workload_identity.token_socket import SocketAnswer, SocketRequest, TokenSocket

pytestmark = pytest.mark.anyio

GIVEN = {"username": "x-access-token", "password": "jwt", "expires_at": 1800000000.5}

type Ask = Callable[..., str]


class Identity:
    """Answers the socket, and remembers what it was asked."""

    def __init__(self) -> None:
        self.answer: dict[str, object] | None = dict(GIVEN)
        self.asked: list[dict[str, list[str]]] = []

    async def __call__(self, request: SocketRequest) -> SocketAnswer | None:
        self.asked.append(dict(request.query))
        return SocketAnswer(self.answer) if self.answer else None


@pytest.fixture
async def identity(tmp_path: Path) -> AsyncIterator[Identity]:
    found = Identity()
    async with TokenSocket(str(tmp_path / "identity.sock"), {os.getuid()}, found):
        yield found


async def helped(tmp_path: Path, asked: str, *arguments: str) -> str:
    answer = io.StringIO()
    await asyncio.to_thread(git_credential.main, arguments or ["get"], io.StringIO(asked), answer, str(tmp_path / "identity.sock"))
    return answer.getvalue()


async def test_git_gets_user_name_password_and_its_end(identity: Identity, tmp_path: Path) -> None:
    assert await helped(tmp_path, "protocol=https\nhost=git.example:8443\n\n") == (
        "username=x-access-token\npassword=jwt\npassword_expiry_utc=1800000000\n"
    )
    assert identity.asked == [{"protocol": ["https"], "host": ["git.example:8443"]}]


@pytest.mark.parametrize("asked", ["", "protocol=http\nhost=git.example\n", "protocol=https\n", "protocol=https\nhost=\n", "nonsense"])
async def test_what_is_not_https_is_not_even_asked(identity: Identity, tmp_path: Path, asked: str) -> None:
    assert await helped(tmp_path, asked) == ""
    assert identity.asked == []


@pytest.mark.parametrize("verb", ["store", "erase", "capability"])
async def test_nothing_is_stored_or_erased(identity: Identity, tmp_path: Path, verb: str) -> None:
    assert await helped(tmp_path, "protocol=https\nhost=git.example\n", verb) == ""
    assert identity.asked == []


async def test_another_user_s_password_is_not_replaced(identity: Identity, tmp_path: Path) -> None:
    assert await helped(tmp_path, "protocol=https\nhost=git.example\nusername=ann\n") == ""


async def test_without_a_credential_git_asks_elsewhere(identity: Identity, tmp_path: Path) -> None:
    identity.answer = None
    assert await helped(tmp_path, "protocol=https\nhost=git.example\n") == ""


async def test_no_line_can_be_smuggled_in(identity: Identity, tmp_path: Path) -> None:
    identity.answer = GIVEN | {"password": "jwt\nquit=1"}
    assert await helped(tmp_path, "protocol=https\nhost=git.example\n") == ""


async def test_without_the_socket_it_says_so_and_fails_nothing(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert await helped(tmp_path, "protocol=https\nhost=git.example\n") == ""
    assert "does not answer" in capsys.readouterr().err


async def test_real_git_asks_it_for_the_configured_host_alone(identity: Identity, tmp_path: Path) -> None:
    helper = tmp_path / "helper"
    helper.write_text(
        f"#!/bin/sh\nexec {sys.executable} -c 'import sys; from sandbox_server.cli import git_credential as g; "
        f'g.main(sys.argv[1:], sys.stdin, sys.stdout, "{tmp_path}/identity.sock")\' "$@"\n'
    )
    helper.chmod(0o755)
    environ = {**os.environ, "GIT_CONFIG_COUNT": "1", "GIT_CONFIG_KEY_0": "credential.https://git.example.helper"}
    environ |= {"GIT_CONFIG_VALUE_0": str(helper), "GIT_TERMINAL_PROMPT": "0", "PYTHONPATH": os.getcwd(), "HOME": str(tmp_path)}

    async def fill(host: str) -> str:
        asked = f"protocol=https\nhost={host}\n\n".encode()
        command = ["git", "credential", "fill"]
        done = await asyncio.to_thread(subprocess.run, command, input=asked, env=environ, capture_output=True, timeout=60, check=False)
        return done.stdout.decode()

    assert "password=jwt\n" in await fill("git.example")
    assert "password" not in await fill("evil.example")
    assert len(identity.asked) == 1
