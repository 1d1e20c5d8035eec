"""A container is prepared for a snapshot, goes on, or becomes another one. The snapshot itself is the engine's: `scripts/test-gvisor`."""

import json
from collections.abc import Callable
from dataclasses import replace

import pytest

from tests.image.container import KEY, Completed, Sandbox, engine
from tests.image.test_box import bash, post
from tests.patience import until

type Start = Callable[..., Sandbox]
NEW = "the-key-of-the-copy"


def snapshot(sandbox: Sandbox, *arguments: str, given: object = None) -> Completed:
    """Run `sandbox snapshot` as the engine's owner does."""
    return engine("exec", "--interactive", sandbox.name, "sandbox", "snapshot", *arguments, stdin=json.dumps(given or {}).encode())


def code(sandbox: Sandbox, text: str) -> str:
    told = post(sandbox, "/v1/jupyter/execute", code=text, session_id="kept")
    return str(told["outputs"][0]["data"]["text/plain"])


def test_an_origin_goes_on_with_all_that_it_had(start_sandbox: Start) -> None:
    sandbox = start_sandbox({"IDENTITY": "true"})
    assert code(sandbox, "x = 41; x") == "41"
    prepared = json.loads(snapshot(sandbox, "prepare").stdout)
    assert not sandbox.answers()
    assert "already" in snapshot(sandbox, "prepare").stderr
    assert "not the token" in snapshot(sandbox, "release", "--token", "x").stderr
    assert not sandbox.answers()
    assert snapshot(sandbox, "release", "--token", prepared["token"]).code == 0
    assert code(sandbox, "x + 1") == "42"
    until(lambda: sandbox.answers("/readyz"))
    assert "not prepared" in snapshot(sandbox, "bind").stderr


def test_a_copy_has_another_identity_and_the_same_memory(start_sandbox: Start) -> None:
    sandbox = start_sandbox({"IDENTITY": "true"})
    assert code(sandbox, "x = 41; x") == "41"
    ticket = sandbox.request("POST", "/tickets", json={"ttl": 600}).json()["ticket"]
    before = sandbox.request("GET", "/v1/identity").json()["data"]
    token = sandbox.run("cat", "/run/sandbox-agent/token").stdout.strip()
    assert snapshot(sandbox, "prepare").code == 0
    assert "origin's" in snapshot(sandbox, "bind", given={"api_key": KEY}).stderr
    assert not sandbox.answers()
    bound = json.loads(snapshot(sandbox, "bind", given={"api_key": NEW}).stdout)
    copy = replace(sandbox, api_key=NEW)
    assert code(copy, "x + 1") == "42"
    after = copy.request("GET", "/v1/identity").json()["data"]
    assert (after["sandbox_id"], bound["origin"]) == (bound["sandbox_id"], before["sandbox_id"])
    assert after["sandbox_id"] != before["sandbox_id"]
    assert set(after["key_ids"]).isdisjoint(before["key_ids"])
    for key in (KEY, token):
        assert replace(sandbox, api_key=key).request("GET", "/v1/sandbox").status_code == 401
    assert copy.http.get(f"{copy.base_url}/v1/sandbox?ticket={ticket}").status_code == 401
    events = copy.request("GET", "/v1/recorder/events?limit=1000").text
    assert '"restored"' in events
    assert "not prepared" in snapshot(sandbox, "bind").stderr
    assert copy.run("cat", "/run/sandbox-agent/token").stdout.strip() not in ("", token)


@pytest.mark.parametrize("what", ["prepare", "release", "bind"])
def test_the_agent_can_do_none_of_it(sandbox: Sandbox, what: str) -> None:
    for prefix in ("", "sudo "):
        done = bash(sandbox, f"echo '{{}}' | {prefix}sandbox snapshot {what} --token x")
        assert (done["exit_code"], done["stderr"].startswith("sandbox snapshot: ")) == (1, True), done["stderr"]
    assert sandbox.request("POST", f"/v1/snapshot/{what}", json={}).status_code == 404
    assert sandbox.answers()
