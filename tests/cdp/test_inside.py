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
    assert shared.get("/browser") == {"pid": shared.pid, "sandboxed": True}
