"""The example of a task for Harbor, run whole by Harbor's command line in a real sandbox."""

import json
import os
import subprocess
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.image.test_integrations import PYTHON, ROOT, client

if TYPE_CHECKING:
    from tests.image.container import Sandbox

__all__ = ["client"]
pytestmark = pytest.mark.slow


@pytest.mark.parametrize(("agent", "reward"), [("oracle", 1.0), ("nop", 0.0)])
def test_harbor_runs_and_grades_a_task(client: dict[str, str], sandbox: "Sandbox", tmp_path: Path, agent: str, reward: float) -> None:
    words = [str(Path(PYTHON).with_name("harbor")), "run", "--yes", "--path", str(ROOT / "examples/harbor_task"), "--agent", agent]
    where = ["--env", "tandem.integrations.harbor:SandboxEnvironment", "--ek", f"url={sandbox.base_url}", "--jobs-dir", str(tmp_path)]
    ours = {"SANDBOX_API_KEY": sandbox.api_key, "HOME": str(tmp_path), "HARBOR_TELEMETRY": "off"}
    done = subprocess.run(
        [*words, *where], env=os.environ | client | ours, cwd=tmp_path, capture_output=True, text=True, check=False, timeout=180
    )
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-3000:]
    [result] = tmp_path.glob("*/*/result.json")
    told = json.loads(result.read_text())
    assert told["exception_info"] is None
    assert told["verifier_result"]["rewards"] == {"reward": reward}
    command = "ls -d /logs /tests /solution; sudo rm -r ~/harbor_task"
    left = sandbox.request("POST", "/v1/bash/exec", json={"command": command}).json()["data"]
    assert (left["stdout"], left["exit_code"]) == ("", 0)
