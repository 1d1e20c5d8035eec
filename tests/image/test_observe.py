"""The container is observed from outside; the published SDK has no methods for it."""

import gzip
import json

from tests.image.container import Sandbox
from tests.patience import until

OBSERVE = "/v1/sandbox/observe"


def test_a_live_look_sees_the_agent_s_own_processes(sandbox: Sandbox) -> None:
    session = sandbox.request("POST", "/v1/bash/exec", json={"command": "exec sleep 600", "async_mode": True}).json()["data"]
    try:
        until(lambda: ("gem", "sleep") in seen(sandbox))
        live = sandbox.request("GET", f"{OBSERVE}/live?top_rows=5").json()["data"]
        assert len(live["top_processes"]) == 5
        assert live["cgroup"]["mem_current_bytes"] > 0
        assert live["disk"][0]["path"] == "/"
    finally:
        sandbox.request("POST", f"/v1/bash/sessions/{session['session_id']}/close")


def seen(sandbox: Sandbox) -> list[tuple[str, str]]:
    """User and name of every process."""
    rows = sandbox.request("GET", f"{OBSERVE}/live?top_rows=200").json()["data"]["top_processes"]
    return [(row["user"], row["comm"]) for row in rows]


def test_a_capture_becomes_a_report_that_can_be_downloaded_and_deleted(sandbox: Sandbox) -> None:
    started = sandbox.request("POST", f"{OBSERVE}/start", json={"interval_seconds": 0.2, "duration_seconds": 60}).json()["data"]
    until(lambda: sandbox.request("GET", f"{OBSERVE}/status").json()["data"]["last_sample_at"])
    stopped = sandbox.request("POST", f"{OBSERVE}/stop", json={}).json()["data"]
    report = sandbox.request("POST", f"{OBSERVE}/export", json={"reason": "test"}).json()["data"]
    downloaded = sandbox.request("GET", f"{OBSERVE}/reports/{report['report_id']}")
    first, *lines = [json.loads(line) for line in gzip.decompress(downloaded.content).splitlines()]

    assert stopped == {"session_id": started["session_id"], "stopped": True, "report_ready": True}
    assert downloaded.headers["content-type"] == "application/gzip"
    assert (first["session"]["session_id"], first["session"]["reason"]) == (started["session_id"], "test")
    assert lines[0]["sample"]["top_processes"]
    assert sandbox.request("DELETE", f"{OBSERVE}/reports/{report['report_id']}").status_code == 200
    assert sandbox.request("GET", f"{OBSERVE}/reports/{report['report_id']}").status_code == 404
