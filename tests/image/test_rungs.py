"""Hosts that allow no box: the container says what is lost, and gives away nothing for it."""

from collections.abc import Callable, Iterator

import pytest

from tests.image.conftest import new_launcher
from tests.image.container import Launcher, Sandbox, until

Start = Callable[..., Sandbox]


@pytest.fixture(scope="module")
def launcher() -> Iterator[Launcher]:
    """Starts containers without what the box needs."""
    made = new_launcher("unboxed", boxed=False)
    try:
        yield made
    finally:
        made.remove()


def test_a_host_that_allows_no_box_gets_the_next_rung_and_is_told(launcher: Launcher) -> None:
    sandbox = launcher.start()
    told = sandbox.request("GET", "/v1/capabilities").json()["data"]
    assert told["rung"] == "users"
    assert told["reason"]
    assert any("systempaths" in flag for flag in told["flags"])
    assert "no box for the agent" in sandbox.logs()
    refused = sandbox.request("POST", "/v1/checkpoints", json={})
    assert refused.status_code == 409


def test_a_box_that_is_required_and_cannot_be_had_stops_the_boot(launcher: Launcher) -> None:
    required = launcher.start(env={"BOX": "on"}, ready=False)
    until(lambda: required.inspect("{{.State.Running}}") == "false", 30)
    assert "BOX=on" in required.logs()


def test_root_is_withheld_where_the_host_s_settings_are_open_and_there_is_no_box(start_sandbox: Start) -> None:
    sandbox = start_sandbox(env={"BOX": "off"})
    run = sandbox.request("POST", "/v1/bash/exec", json={"command": "sudo -n id -u"}).json()["data"]
    assert run["exit_code"] != 0
    assert not sandbox.request("GET", "/v1/capabilities").json()["data"]["agent_may_be_root"]
