import json
import signal
import socket
import subprocess
import sys
from pathlib import Path

import httpx2
import pytest

from sandbox_server.drivers.box.isolation import EgressEnforcement, Isolation
from sandbox_server.mcp.app import agent_network
from sandbox_server.settings import Settings
from tests.patience import PATIENCE_SECONDS, until

SERVE = """
import sys
from sandbox_server.mcp.on_demand import serve
from sandbox_server.settings.paths import Paths
from sandbox_server.settings import Settings
serve(Settings(paths=Paths(run=sys.argv[1])), "1.2.3")
"""


def connects(path: Path) -> bool:
    with socket.socket(socket.AF_UNIX) as probe:
        return probe.connect_ex(str(path)) == 0


def test_the_process_serves_on_its_socket_before_the_api_is_up_and_ends_when_told(tmp_path: Path) -> None:
    place = tmp_path / "mcp.sock"
    process = subprocess.Popen([sys.executable, "-c", SERVE, str(tmp_path)], stdout=subprocess.PIPE)
    try:
        until(lambda: connects(place))
        with httpx2.Client(transport=httpx2.HTTPTransport(uds=str(place)), base_url="http://mcp", timeout=PATIENCE_SECONDS) as client:
            body = {"jsonrpc": "2.0", "id": 1, "method": "ping"}
            answers = [client.post(path, json=body, headers={"X-Sandbox-Caller": "test"}) for path in ("/mcp", "/v1/mcp")]
            missing = client.post("/elsewhere", json=body)
    finally:
        process.send_signal(signal.SIGTERM)
        output, _ = process.communicate(timeout=PATIENCE_SECONDS)

    assert [json.loads(answer.content) for answer in answers] == [{"jsonrpc": "2.0", "id": 1, "result": {}}] * 2
    assert missing.status_code == 404
    assert process.returncode in (0, -signal.SIGTERM)
    assert b"Traceback" not in output


@pytest.mark.parametrize(("egress", "decides"), [("namespace", True), ("rules", True), ("proxy", True), ("off", False)])
def test_urls_are_reached_by_the_policy_wherever_there_is_one(egress: EgressEnforcement, decides: bool) -> None:
    found = Isolation("box" if egress == "namespace" else "users", "", egress=egress)
    assert (agent_network(Settings(), found) is not None) == decides
