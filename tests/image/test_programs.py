"""Programs and packages that the agent finds without installing any."""

from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from tests.image.container import Sandbox


def ran(sandbox: "Sandbox", command: str) -> tuple[int, str]:
    done = sandbox.request("POST", "/v1/bash/exec", json={"command": command, "timeout": 60}).json()["data"]
    return done["exit_code"], done["stdout"] + done["stderr"]


@pytest.mark.parametrize("command", [
    "python -c 'import fastapi, pandas'",
    "vim --version",
    "htop --version",
    "convert -version",
    "telnet --version",
    "nc -h",
    "ping -c 1 127.0.0.1",
    "node --version && node22 --version && npm --version",
    "npm ls --global",
])  # fmt: skip
def test_a_program_is_there_and_runs(sandbox: "Sandbox", command: str) -> None:
    code, said = ran(sandbox, command)
    assert code == 0, said


def test_packages_are_listed_once_each_npm_among_them(sandbox: "Sandbox") -> None:
    python = [package["name"].lower() for package in sandbox.request("GET", "/v1/sandbox/packages/python").json()["data"]]
    node = [package["name"] for package in sandbox.request("GET", "/v1/sandbox/packages/nodejs").json()["data"]]
    assert len(python) == len(set(python))
    assert {"fastapi", "packaging"} <= set(python)
    assert "npm" in node


def test_no_program_of_these_has_the_rights_of_another_user(sandbox: "Sandbox") -> None:
    assert ran(sandbox, "find /usr/bin/ping /usr/bin/telnet* /usr/bin/inetutils-telnet /usr/bin/htop -perm /6000")[1] == ""


def test_with_a_proxy_in_use_node_writes_nothing_of_its_own(sandbox: "Sandbox") -> None:
    proxied = "NODE_USE_ENV_PROXY=1 HTTP_PROXY=http://127.0.0.1:9 HTTPS_PROXY=http://127.0.0.1:9"
    for node in ("node", "node22", "node24"):
        code, said = ran(sandbox, f"{proxied} {node} -e \"console.error('mine')\"")
        assert (code, said) == (0, "mine\n")
