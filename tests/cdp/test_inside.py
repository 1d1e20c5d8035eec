"""What the API asks of the process that owns the browser."""

from typing import Any

import pytest

Owner = Any


@pytest.mark.parametrize("body", ["[]", "{", '{"url_blocklist": 3}'])
def test_a_restart_that_makes_no_sense_changes_nothing(shared: Owner, body: str) -> None:
    pid = shared.pid
    assert shared.request("POST", "/browser/restart", content=body).status_code == 400
    assert shared.pid == pid


def test_its_paths_are_not_those_of_devtools(shared: Owner) -> None:
    assert shared.request("GET", "/cdp/browser").status_code == 404
    told = shared.get("/browser")
    assert (told["pid"], told["sandboxed"]) == (shared.pid, True)


def test_messages_of_clients_are_counted_and_those_of_the_api_are_not(shared: Owner) -> None:
    before = shared.get("/browser")["messages"]
    with shared.connect() as client:
        client.result("Browser.getVersion")
    with shared.connect(headers={"X-Sandbox-Caller": "api", "X-Sandbox-Scopes": "browser"}) as api:
        api.result("Browser.getVersion")
    assert shared.get("/browser")["messages"] == before + 1
