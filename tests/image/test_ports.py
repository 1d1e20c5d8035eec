"""The ports of the agent's programs: listed, waited for, and shared with somebody who has no key."""

from collections.abc import Iterator
from typing import Any

import httpx
import pytest

from tests.image.container import Sandbox
from tests.patience import PATIENCE_SECONDS

PORT = 8431
WAITED = 8432


@pytest.fixture(scope="module")
def served(sandbox: Sandbox) -> Iterator[Sandbox]:
    """A web server of the agent's."""
    start = {"command": f"cd /usr/share/doc && exec python3 -m http.server {PORT} --bind 127.0.0.1", "async_mode": True}
    started = sandbox.request("POST", "/v1/bash/exec", json=start).json()["data"]
    assert ports(sandbox, wait=PORT)["ready"] is True
    yield sandbox
    sandbox.request("POST", "/v1/bash/kill", json={"session_id": started["session_id"]})


def ports(sandbox: Sandbox, **query: object) -> dict[str, Any]:
    answer = sandbox.request("GET", "/v1/ports", params=query)
    assert answer.status_code == 200, answer.text
    found: dict[str, Any] = answer.json()["data"]
    return found


def test_what_the_agent_serves_is_listed_with_its_program_and_our_own_ports_are_not(served: Sandbox) -> None:
    found = {port["port"]: port for port in ports(served)["ports"]}

    assert found[PORT]["address"] == "127.0.0.1"
    assert "http.server" in str(found[PORT]["process"])
    assert found[PORT]["url"] == f"{served.base_url}/proxy/{PORT}/"
    assert 8080 not in found


def test_waiting_ends_when_the_port_is_there_or_the_time_is_over(served: Sandbox) -> None:
    late = f"(sleep 0.3; exec timeout 60 python3 -m http.server {WAITED} --bind 127.0.0.1) >/dev/null 2>&1 &"
    assert served.request("POST", "/v1/bash/exec", json={"command": late}).status_code == 200

    assert ports(served, wait=WAITED, timeout=30)["ready"] is True
    assert ports(served, wait=8433, timeout=0)["ready"] is False
    assert served.request("GET", "/v1/ports", params={"wait": 8080}).status_code == 403


def test_a_link_shows_one_port_to_anybody_until_it_is_taken_back(served: Sandbox) -> None:
    made = served.request("POST", f"/v1/ports/{PORT}/share", json={"ttl": 600, "note": "for Tom"}).json()["data"]
    with httpx.Client(follow_redirects=True, trust_env=False, timeout=PATIENCE_SECONDS) as browser:
        page = browser.get(made["url"], headers={"Accept": "text/html"})
        again = browser.get(f"{served.base_url}/proxy/{PORT}/")
        beside = [browser.get(f"{served.base_url}{path}") for path in ("/", "/v1/sandbox", f"/proxy/{WAITED}/", "/mcp")]
        [listed] = served.request("GET", "/v1/ports/shares").json()["data"]
        revoked = served.request("DELETE", f"/v1/ports/shares/{made['share_id']}")
        after = [browser.get(f"{served.base_url}/proxy/{PORT}/"), browser.get(made["url"])]

    assert (page.status_code, again.status_code) == (200, 200)
    assert "share=" not in str(page.url)
    assert [answer.status_code for answer in beside] == [401] * 4
    assert (listed["note"], revoked.status_code) == ("for Tom", 200)
    assert [answer.status_code for answer in after] == [401, 401]
    assert made["url"].partition("share=")[2] not in served.logs()


def test_no_link_leads_to_the_sandbox_itself(served: Sandbox) -> None:
    assert served.request("POST", "/v1/ports/8080/share", json={}).status_code == 403
