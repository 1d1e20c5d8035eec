"""E2B's protocol: E2B's SDKs, as their users install them, against a fleet with real sandboxes.

What they do is in `e2b_programs`, which check it themselves and say which methods they called. The table of `docs/fleet-e2b.md` names
every method of the SDKs.
"""

import json
import os
import re
import secrets
import signal
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import httpx
import pytest

from tests.image.test_fleet import IMAGE, RUN, Host

PROGRAMS = Path(__file__).parent / "e2b_programs"
PAGE = Path(__file__).parents[2] / "docs/fleet-e2b.md"
PYTHON = os.environ.get("TANDEM_E2B", "/opt/e2b/bin/python")
NODE, PACKAGES = "/opt/node/22/bin/node", "/opt/clients/"
KEY = "the-key-of-these-tests"
LIGHT = {"image": IMAGE, "environment": {"DISABLE_BROWSER": "true", "DISABLE_CODE_SERVER": "true"}, "labels": {"tandem.test": RUN}}
"""The template of these sandboxes: they are ready soon, and have kernels."""
SECONDS = 600
NOT_PUBLIC = frozenset(
    [
        "checkHealth",
        "fileUrl",
        "flushDecoders",
        "getJupyterRequestUrl",
        "handleDisconnect",
        "handleEvents",
        "handleKill",
        "handleRequestError",
        "handleStop",
        "iterateEvents",
        "onEvent",
        "onPty",
        "resolveApiOpts",
        "start",
    ]
)
"""Methods that TypeScript declares private or protected, which JavaScript does not tell."""
LISTED = re.compile(r"`([A-Za-z]+\.[A-Za-z_]+)`")


@dataclass(frozen=True)
class Service:
    """A fleet that answers."""

    url: str

    def run(self, *command: str) -> str:
        """What a program prints; it must succeed."""
        ours = {"E2B_API_URL": self.url, "E2B_SANDBOX_URL": self.url, "E2B_API_KEY": KEY, "E2B_PACKAGES": PACKAGES}
        done = subprocess.run(command, env=os.environ | ours, cwd=PROGRAMS, capture_output=True, text=True, timeout=SECONDS, check=False)
        assert done.returncode == 0, done.stderr
        return done.stdout


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    """A fleet whose templates have kernels and no browser; it leaves nothing."""
    host = Host(tmp_path_factory.mktemp("state"), f"test-{secrets.token_hex(4)}", {"TANDEM_KEY": KEY})
    with host.start("serve", "--port", "0") as process:
        try:
            assert process.stderr
            said = re.search(r"http://\S+?(?=;)", process.stderr.readline())
            assert said
            for template in ("base", "code-interpreter-v1"):
                headers = {"Authorization": f"Bearer {KEY}"}
                httpx.put(f"{said[0]}/v1/templates/{template}", json=LIGHT, headers=headers).raise_for_status()
            yield Service(said[0])
        finally:
            process.send_signal(signal.SIGTERM)
            process.communicate(timeout=60)
            host.remove()


def listed(heading: str) -> dict[str, str]:
    """The methods in the table below a heading of the page, each with what is said of it."""
    table = PAGE.read_text("utf-8").split(f"## {heading}\n", 1)[1].split("\n## ", 1)[0]
    rows = [line.strip("|").split("|") for line in table.splitlines() if line.startswith("|")]
    return {name: cells[-1].strip() for cells in rows for name in LISTED.findall(cells[0])}


@pytest.mark.slow
@pytest.mark.parametrize("client", ["blocking", "asynchronous"])
@pytest.mark.parametrize("program", ["sandboxes", "processes", "files", "interpreter"])
def test_a_program_of_the_python_sdk_does_what_it_says(service: Service, program: str, client: str) -> None:
    called = set(json.loads(service.run(PYTHON, f"{program}.py", client)))
    assert called
    assert called <= listed("Look up a method of the Python SDK").keys()


def test_every_method_of_the_python_sdk_is_in_the_table() -> None:
    methods = subprocess.run([PYTHON, "steps.py"], cwd=PROGRAMS, capture_output=True, text=True, timeout=SECONDS, check=True).stdout
    assert set(json.loads(methods)) == listed("Look up a method of the Python SDK").keys()


@pytest.mark.slow
def test_the_npm_sdk_does_what_the_table_says(service: Service) -> None:
    said = json.loads(service.run(NODE, "sdk.mjs"))
    table = listed("Look up a method of the npm SDK")
    assert {name for name in said["methods"] if name.split(".")[1] not in NOT_PUBLIC} <= table.keys()
    assert set(said["called"]) <= table.keys()
    assert {name for name, what in table.items() if what == "yes"} <= set(said["called"])
