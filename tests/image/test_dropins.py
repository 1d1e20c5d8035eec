"""`FROM tandem` and a few files: the worked examples under custom_tools/, built and run."""

import os
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

from tests.image.container import Launcher, Sandbox, engine
from tests.patience import PATIENCE_SECONDS, until

pytestmark = pytest.mark.limit(1000)  # one of them builds an image
EXAMPLES = Path(__file__).parent.parent.parent / "custom_tools"


def built(example: str) -> Iterator[Sandbox]:
    """Build an example's image, run it, and remove both."""
    image, run = os.environ["TANDEM_IMAGE"], os.environ["TANDEM_RUN"]
    name = f"{run}-{example.replace('_', '-')}"
    done = engine("build", "--tag", name, "--build-arg", f"TANDEM={image}", str(EXAMPLES / example), timeout=600)
    assert done.code == 0, done.stderr
    launcher = Launcher(name, run, example.replace("_", "-"))
    try:
        yield launcher.start()
    finally:
        launcher.remove()
        engine("rmi", name)


@pytest.fixture(scope="module")
def clock() -> Iterator[Sandbox]:
    """A container with the service of the example."""
    yield from built("clock")


@pytest.fixture(scope="module")
def text_diff() -> Iterator[Sandbox]:
    """A container with the operation of the example."""
    yield from built("text_diff")


def test_an_added_service_runs_as_the_agent_and_answers_on_its_route(clock: Sandbox) -> None:
    until(lambda: clock.request("GET", "/clock/").status_code == 200, told=clock.logs)
    assert clock.request("GET", "/clock/").json()["caller"] == "key"
    assert clock.exec("pgrep", "-u", "gem", "-f", "clock.py").code == 0


@pytest.mark.parametrize("path", ["/clock/", "/clock/ticks", "/clock/?x=.js", "/clock/x.js"])
def test_an_added_route_is_behind_the_question(clock: Sandbox, path: str) -> None:
    assert clock.http.get(f"{clock.base_url}{path}").status_code == 401


def test_an_added_route_streams(clock: Sandbox) -> None:
    until(lambda: clock.request("GET", "/clock/").status_code == 200, told=clock.logs)
    with (
        httpx.Client(timeout=PATIENCE_SECONDS, trust_env=False) as client,
        client.stream("GET", f"{clock.base_url}/clock/ticks", headers=clock.headers) as ticks,
    ):
        lines = (line for line in ticks.iter_lines() if line.startswith("data: "))
        first, second = next(lines), next(lines)
    assert first != second


def test_an_added_service_that_dies_comes_back(clock: Sandbox) -> None:
    until(lambda: clock.request("GET", "/clock/").status_code == 200, told=clock.logs)
    before = clock.exec("pgrep", "-f", "clock.py").stdout
    assert clock.exec("pkill", "-9", "-f", "clock.py").code == 0
    until(lambda: clock.request("GET", "/clock/").status_code == 200, told=clock.logs)
    assert clock.exec("pgrep", "-f", "clock.py").stdout != before


def test_an_added_operation_is_an_operation_like_any_other(text_diff: Sandbox) -> None:
    answer = text_diff.request("POST", "/v1/text/diff", json={"old": "a\n", "new": "b\n"}).json()
    assert (answer["success"], answer["data"]["added"], answer["data"]["removed"]) == (True, 1, 1)
    assert text_diff.request("POST", "/v1/text/diff", json={"old": "a"}).status_code == 422
    assert "/v1/text/diff" in text_diff.request("GET", "/v1/openapi.json").json()["paths"]
    assert text_diff.http.post(f"{text_diff.base_url}/v1/text/diff", json={}).status_code == 401


def test_an_added_operation_is_an_mcp_tool(text_diff: Sandbox) -> None:
    call = {"jsonrpc": "2.0", "id": 1, "method": "tools/list"}
    headers = {"Accept": "application/json, text/event-stream"}
    assert "text_diff" in text_diff.request("POST", "/mcp", json=call, headers=headers).text
