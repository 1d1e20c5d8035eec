"""The worked examples of what an image user adds; tests/image builds them into images."""

import shutil
import subprocess
import sys
import urllib.request
from pathlib import Path

import pytest
from starlette.testclient import TestClient

from sandbox_server.core.custom_tools import load_features
from sandbox_server.core.dispatch import Dispatcher, require_scope
from sandbox_server.core.http import create_app
from sandbox_server.core.operation import operations
from tests.patience import PATIENCE_SECONDS, until

EXAMPLES = Path(__file__).parent.parent / "custom_tools"
CALLER = {"X-Sandbox-Caller": "test", "X-Sandbox-Scopes": "files"}


@pytest.fixture
def client(tmp_path: Path) -> TestClient:
    """An API with the example's file where an image puts it."""
    tmp_path.chmod(0o755)
    shutil.copy(EXAMPLES / "text_diff/text_diff.py", tmp_path)
    (tmp_path / "text_diff.py").chmod(0o644)
    found = [op for feature in load_features(str(tmp_path)) for op in operations(feature)]
    assert [op.spec.tool for op in found] == ["text_diff"]
    return TestClient(create_app(found, Dispatcher([require_scope])))


@pytest.mark.parametrize(
    ("old", "new", "added", "removed"),
    [("a\nb\n", "a\nc\n", 1, 1), ("same", "same", 0, 0), ("", "x", 1, 0), ("--- x\n", "", 0, 1), ("a", "a\n", 1, 1)],
)
def test_a_diff_counts_what_changed(client: TestClient, old: str, new: str, added: int, removed: int) -> None:
    answer = client.post("/v1/text/diff", json={"old": old, "new": new, "name": "x.txt"}, headers=CALLER).json()["data"]
    assert (answer["added"], answer["removed"]) == (added, removed)
    assert (answer["diff"] == "") == (old == new)


def test_a_diff_can_be_applied(client: TestClient, tmp_path: Path) -> None:
    answer = client.post("/v1/text/diff", json={"old": "a\nb", "new": "a\nc\nd", "name": "x.txt"}, headers=CALLER).json()["data"]
    (tmp_path / "x.txt").write_text("a\nb")
    subprocess.run(["git", "apply"], input=answer["diff"], text=True, cwd=tmp_path, check=True, capture_output=True)
    assert (tmp_path / "x.txt").read_text() == "a\nc\nd"


def test_texts_that_are_too_long_are_refused(client: TestClient) -> None:
    assert client.post("/v1/text/diff", json={"old": "x" * 1_000_001, "new": ""}, headers=CALLER).status_code == 413


def test_the_clock_tells_the_time_to_its_caller() -> None:
    clock = subprocess.Popen([sys.executable, str(EXAMPLES / "clock/clock.py")])
    request = urllib.request.Request("http://127.0.0.1:9100/", headers={"X-Sandbox-Caller": "mia"})

    def answer() -> bytes:
        try:
            with urllib.request.urlopen(request, timeout=PATIENCE_SECONDS) as response:
                found: bytes = response.read()
                return found
        except OSError:
            return b""

    try:
        until(answer)
        assert b'"caller": "mia"' in answer()
    finally:
        clock.kill()
        clock.wait(PATIENCE_SECONDS)
