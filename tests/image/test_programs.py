"""Programs and packages that the agent finds without installing any."""

from collections.abc import Callable
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from tests.image.container import Sandbox


WHEEL = """
import zipfile
with zipfile.ZipFile("/tmp/pillow-99-py3-none-any.whl", "w") as wheel:
    wheel.writestr("PIL/__init__.py", "newer = True")
    wheel.writestr("pillow-99.dist-info/METADATA", "Metadata-Version: 2.1\\nName: pillow\\nVersion: 99\\n")
    wheel.writestr("pillow-99.dist-info/WHEEL", "Wheel-Version: 1.0\\nGenerator: x\\nRoot-Is-Purelib: true\\nTag: py3-none-any\\n")
    wheel.writestr("pillow-99.dist-info/RECORD", "PIL/__init__.py,,\\npillow-99.dist-info/METADATA,,\\npillow-99.dist-info/RECORD,,\\n")
"""
"""Makes a package of the agent's that is newer than one of which the server has the same files."""


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


def test_a_program_in_c_is_made_and_runs(sandbox: "Sandbox", folder: str) -> None:
    source = '#include <math.h>\n#include <stdio.h>\nint main(int n, char **a) { return printf("%.0f\\n", sqrt(1764.0 * n)) < 0; }\n'
    makefile = "answer: answer.o\n\tcc -o $@ $< -lm\n"
    for name, text in (("answer.c", source), ("Makefile", makefile)):
        sandbox.request("POST", "/v1/file/write", json={"file": f"{folder}/{name}", "content": text}).raise_for_status()
    assert ran(sandbox, f"cd {folder} && make --silent && ./answer") == (0, "42\n")


def test_uv_makes_an_environment_of_each_python(sandbox: "Sandbox", folder: str) -> None:
    for version in ("3.10", "3.13"):
        made = ran(sandbox, f"uv --offline venv --quiet --python {version} {folder}/{version} && {folder}/{version}/bin/python -V")
        assert made[0] == 0, made
        assert made[1].startswith(f"Python {version}.")


def test_every_compiled_module_that_code_imports_loads(sandbox: "Sandbox") -> None:
    load = "import numpy.linalg, pandas, matplotlib.backends.backend_agg, PIL.ImageFont, fontTools.misc.bezierTools, kiwisolver; print(1)"
    assert ran(sandbox, f"python3 -c '{load}' 2>/dev/null") == (0, "1\n")


def test_a_newer_package_takes_nothing_from_the_server(start_sandbox: Callable[..., "Sandbox"]) -> None:
    sandbox = start_sandbox()
    listed = ("find", "-L", "/opt/venv/lib/python3.13/site-packages/PIL", "-type", "f")
    before = sandbox.exec(*listed).stdout
    assert len(before.splitlines()) > 50
    assert sandbox.exec("python3", "-c", WHEEL).code == 0
    done = sandbox.exec("pip", "install", "--no-index", "--no-deps", "/tmp/pillow-99-py3-none-any.whl")  # as the agent's root without a box
    assert done.code == 0, done.stderr
    assert sandbox.exec("python3", "-c", "import PIL; print(PIL.newer)").stdout == "True\n"
    assert sandbox.exec(*listed).stdout == before


def test_no_program_of_these_has_the_rights_of_another_user(sandbox: "Sandbox") -> None:
    assert ran(sandbox, "find /usr/bin/ping /usr/bin/telnet* /usr/bin/inetutils-telnet /usr/bin/htop -perm /6000")[1] == ""


def test_with_a_proxy_in_use_node_writes_nothing_of_its_own(sandbox: "Sandbox") -> None:
    proxied = "NODE_USE_ENV_PROXY=1 HTTP_PROXY=http://127.0.0.1:9 HTTPS_PROXY=http://127.0.0.1:9"
    for node in ("node", "node22", "node24"):
        code, said = ran(sandbox, f"{proxied} {node} -e \"console.error('mine')\"")
        assert (code, said) == (0, "mine\n")
