"""Who drives as a person sees it: one colour for each driver on every page, one form of a name, and messages that end with their state."""

from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, Page, expect

from tests.image.container import Sandbox
from tests.pages.conftest import DESKTOP, sign_in
from tests.patience import until

DOT = "getComputedStyle(document.querySelector('#driver'), '::before').backgroundColor"
EDGE = "getComputedStyle(document.querySelector('main')).borderTopColor"
COLOUR = """(variable) => {
  const probe = document.body.appendChild(document.createElement("i"));
  probe.style.color = `var(${variable})`;
  const { color } = getComputedStyle(probe);
  probe.remove();
  return color;
}"""
LANES = {"agent": "--driver-agent", "you": "--driver-you", "other": "--driver-other", "paused": "--paused", "private": "--private"}


@pytest.fixture
def second(browser: Browser, sandbox: Sandbox) -> Iterator[Page]:
    """Another person's page."""
    with browser.new_context(**DESKTOP) as context:
        yield sign_in(context, sandbox)


@pytest.fixture
def driving(person: Page, sandbox: Sandbox) -> Iterator[Page]:
    """A person who took control on the live page."""
    sandbox.request("GET", "/v1/sandbox").raise_for_status()
    person.goto(f"{sandbox.base_url}/view")
    person.get_by_role("button", name="Take control").click()
    expect(person.locator("#driver")).to_have_text("You drive")
    yield person
    person.evaluate("fetch('/v1/control/release', {method: 'POST', headers: {'Content-Type': 'application/json'}, body: '{}'})")


def assert_colour(page: Page, variable: str) -> None:
    """Wait until both have that colour: each follows who drives by itself."""

    def colours() -> tuple[str, str, str]:
        return page.evaluate(DOT), page.evaluate(EDGE), page.evaluate(COLOUR, variable)

    until(lambda: len(set(colours())) == 1)


def test_a_driver_has_one_colour_in_the_bar_and_around_the_screen(driving: Page, second: Page, sandbox: Sandbox) -> None:
    second.goto(f"{sandbox.base_url}/view")
    expect(second.locator("tandem-bar")).to_have_attribute("data-driver", "other")
    assert_colour(driving, "--driver-you")
    assert_colour(second, "--driver-other")
    driving.get_by_role("button", name="Hand back to agent").click()
    expect(second.locator("#driver")).to_have_text("The agent drives")
    for page in (driving, second):
        assert_colour(page, "--driver-agent")


def test_the_recorders_lanes_have_the_colours_of_the_drivers(person: Page, sandbox: Sandbox) -> None:
    person.goto(f"{sandbox.base_url}/recorder")
    seen = {person.evaluate(COLOUR, f"--lane-{lane}") for lane in LANES}
    assert seen == {person.evaluate(COLOUR, variable) for variable in LANES.values()}
    assert len(seen) == len(LANES)


def test_a_message_about_a_state_ends_with_it(driving: Page) -> None:
    driving.get_by_role("button", name="Private", exact=True).click()
    driving.get_by_role("button", name="End private").click()
    message = driving.locator(".notice", has_text="Private mode is off.")
    expect(message).to_be_visible()
    driving.get_by_role("button", name="Hand back to agent").click()
    expect(driving.locator("#driver")).to_have_text("The agent drives")
    expect(message).to_have_count(0, timeout=2_000)


def test_a_person_has_one_form_of_a_name_on_every_page(driving: Page, second: Page, sandbox: Sandbox) -> None:
    caller = driving.evaluate("fetch('/auth').then((answer) => answer.json()).then(({ caller }) => caller)")
    name = caller.replace("#", " · ")[: len(caller.split("#")[0]) + 7]
    for path in ("/view", "/", "/terminal"):
        second.goto(sandbox.base_url + path)
        expect(second.locator("#driver")).to_have_text(f"{name} drives")
    second.goto(f"{sandbox.base_url}/recorder")
    expect(second.locator("#list")).to_contain_text(f"{name} took control")
    expect(second.locator("body")).not_to_contain_text(caller)
