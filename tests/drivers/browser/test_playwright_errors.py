import pytest
from playwright.async_api import Error
from playwright.async_api import TimeoutError as OutOfTime

from sandbox_server.core.errors import Conflict, Failure
from sandbox_server.drivers.browser.playwright_errors import failure_of, translated

STALLED = """Locator.click: Timeout 500ms exceeded.
Call log:
  - waiting for locator("button").first
  -   <div id="cover">Advertisement</div> intercepts pointer events
  - retrying click action
  -   waiting 500ms
"""


@pytest.mark.parametrize(
    ("message", "status", "reason"),
    [
        ("Page.goto: Page crashed", 409, "crashed"),
        ("Page.evaluate: Target crashed ", 409, "crashed"),
        ("Locator.click: Target page, context or browser has been closed", 409, "closed"),
        ("Page.goto: Protocol error (Page.navigate): Target closed", 409, "closed"),
        ("Page.evaluate: Execution context was destroyed, most likely because of a navigation", 409, "navigated"),
        ("Frame.goto: Frame was detached", 409, "navigated"),
        ("Page.goto: net::ERR_NAME_NOT_RESOLVED at http://nowhere.invalid/", 409, "network"),
        ("Page.goto: Protocol error (Page.navigate): Cannot navigate to invalid URL", 400, None),
        ("Locator.click: SyntaxError: Failed to execute 'querySelector': 'a[[' is not a valid selector.", 400, None),
        ("Page.evaluate: ReferenceError: x is not defined\n    at <anonymous>", 400, None),
        ("Page.click: something nobody thought of", 409, "page"),
    ],
)
def test_an_error_is_of_a_kind_that_is_not_sent_again(message: str, status: int, reason: str | None) -> None:
    failure = failure_of(message, "the work")

    assert (failure.status, failure.details.get("reason")) == (status, reason)


def test_a_time_that_ran_out_says_what_it_ran_out_on() -> None:
    with (
        pytest.raises(
            Conflict, match='the click did not end in time: <div id="cover">Advertisement</div> intercepts pointer events'
        ) as failed,
        translated("the click"),
    ):
        raise OutOfTime(STALLED)
    assert failed.value.details["reason"] == "timeout"


def test_every_error_of_playwright_becomes_a_failure() -> None:
    with pytest.raises(Failure), translated("the work"):
        raise Error("Page.close: whatever")
    with pytest.raises(Conflict, match="the work did not end in time"), translated("the work"):
        raise TimeoutError
