"""A pause as a person sees it: the agent's programs stand still, the page says which, and a person may take control from there."""

from collections.abc import Iterator

import pytest
from playwright.sync_api import Page, expect

from tests.image.container import Sandbox
from tests.image.test_control import Person
from tests.patience import until

LOOP = "while true; do date +%s.%N >> /tmp/ticks; sleep 0.1; done"
PAGES = ("/", "/view", "/terminal")


def ticks(sandbox: Sandbox) -> int:
    """How often the agent's loop has written."""
    return int(sandbox.exec("sh", "-c", "cat /proc/$(pgrep -o -u gem bash)/root/tmp/ticks | wc -l").stdout)


@pytest.fixture
def looping(sandbox: Sandbox) -> Iterator[Sandbox]:
    """A sandbox in which the agent runs a loop that writes ten times a second."""
    before = ticks(sandbox)
    made = sandbox.request("POST", "/v1/shell/exec", json={"command": LOOP, "async_mode": True}).json()["data"]
    until(lambda: ticks(sandbox) > before)
    yield sandbox
    person = Person(sandbox)
    person.control("thaw")
    person.control("release")
    sandbox.request("POST", "/v1/shell/kill", json={"id": made["session_id"]})


@pytest.mark.parametrize("path", PAGES)
def test_a_pause_stops_the_agents_programs_says_which_and_ends_by_a_click(person: Page, looping: Sandbox, path: str) -> None:
    person.goto(looping.base_url + path)
    person.get_by_role("button", name="Pause agent").click()
    expect(person.locator("#driver")).to_have_text("Paused")
    expect(person.locator(".notice", has_text="The agent is paused.")).to_contain_text("bash")
    before = ticks(looping)
    refused = looping.request("POST", "/v1/shell/exec", json={"command": "true"})
    assert refused.status_code == 423
    person.wait_for_timeout(1000)
    assert ticks(looping) == before
    person.get_by_role("button", name="Resume agent").click()
    expect(person.locator("#driver")).to_have_text("The agent drives")
    expect(person.locator(".notice", has_text="paused")).to_have_count(0)
    until(lambda: ticks(looping) > before)


def test_a_person_takes_control_from_a_pause_and_nothing_of_the_agents_goes_on(person: Page, looping: Sandbox) -> None:
    person.goto(f"{looping.base_url}/view")
    person.get_by_role("button", name="Pause agent").click()
    expect(person.locator(".notice", has_text="The agent is paused.")).to_contain_text("bash")  # now its programs stand still
    before = ticks(looping)
    person.get_by_role("button", name="Take control").click()
    expect(person.locator("#driver")).to_have_text("You drive")
    expect(person.locator(".notice", has_text="stand still until it has control again")).to_be_visible()
    person.wait_for_timeout(1000)
    assert ticks(looping) == before
    person.get_by_role("button", name="Hand back to agent").click()
    expect(person.locator("#driver")).to_have_text("The agent drives")
    until(lambda: ticks(looping) > before)
