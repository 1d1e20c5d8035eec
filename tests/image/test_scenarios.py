"""What an agent cannot do alone it does with a person, who has a browser of its own, on a site that checks; nothing leaks."""

import os
from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser

from benchmarks.handoff.person import browsing, watching
from benchmarks.handoff.scenarios import SCENARIOS, Stage, alone, take, with_person
from benchmarks.handoff.site import serving
from tests.image.container import Sandbox
from tests.image.test_control import return_control


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with browsing() as launched:
        yield launched


@pytest.fixture(scope="module")
def stage(sandbox: Sandbox) -> Iterator[Stage]:
    with serving(os.environ["TANDEM_RUN"]) as site:
        yield Stage(sandbox.base_url, sandbox.api_key, site)


@pytest.fixture(autouse=True)
def given_back(sandbox: Sandbox) -> Iterator[None]:
    """Give control back to the agent after a test that failed while a person held it."""
    yield
    return_control(sandbox)


@pytest.mark.parametrize("name", SCENARIOS)
@pytest.mark.slow
def test_what_an_agent_cannot_do_alone_it_does_with_a_person(stage: Stage, browser: Browser, name: str) -> None:
    scenario = SCENARIOS[name]
    assert not alone(stage, scenario).done
    with watching(browser, stage.invitation()) as person:
        found = with_person(stage, scenario, person)
    assert found.done
    assert found.leaks == []


def test_a_persons_first_press_takes_control_and_arrives(stage: Stage, browser: Browser) -> None:
    with watching(browser, stage.invitation()) as person:
        take(stage, person)
