"""The API reference, as who looks for an operation sees it."""

import re

from playwright.sync_api import Page, expect

from tests.image.container import Sandbox


def open_at(page: Page, sandbox: Sandbox, operation: str = "") -> None:
    """Open the reference, at an operation."""
    page.goto("about:blank")
    page.goto(f"{sandbox.base_url}/v1/docs{operation and '#'}{operation}")
    expect(page.locator("#operation h3")).to_be_visible()


def test_the_first_page_says_what_each_group_is_for_and_how_answers_look(person: Page, sandbox: Sandbox) -> None:
    open_at(person, sandbox)
    checkpoints = person.locator(".group", has_text="Keep the state of the files, compare, and go back.")

    expect(person.get_by_text("{success, message, data, hint}")).to_have_count(1)
    checkpoints.get_by_role("link", name="restore_checkpoint").click()
    expect(person.locator(".path")).to_have_text("/v1/checkpoints/{checkpoint_id}/restore")


def test_undo_finds_checkpoints(person: Page, sandbox: Sandbox) -> None:
    open_at(person, sandbox)
    person.get_by_role("searchbox").fill("undo")

    expect(person.locator("#tags h2")).to_have_text("checkpoints")
    expect(person.locator("#tags a", has_text="restore_checkpoint")).to_be_visible()


def test_an_operation_is_tried_beside_its_text_with_the_example_filled_in(person: Page, sandbox: Sandbox) -> None:
    open_at(person, sandbox, "bash/exec")
    text, trial = (person.locator(selector).bounding_box() for selector in (".text", ".try"))
    assert text
    assert trial
    assert trial["x"] > text["x"] + text["width"]
    assert trial["y"] < 900

    expect(person.locator("[name='field command']")).to_have_value("ls -la")
    person.get_by_role("button", name="Send").click()
    expect(person.locator(".outcome")).to_have_text(re.compile("^200"))
    expect(person.locator(".result")).to_contain_text("exit_code")


def test_what_is_tandems_own_is_shown_in_python(person: Page, sandbox: Sandbox) -> None:
    open_at(person, sandbox, "handoffs/request_human")
    person.get_by_role("tab", name="Python").click()

    expect(person.locator(".snippets code")).to_contain_text('json={"reason": "Shall I go on?"}')


def test_on_a_phone_text_and_trial_stand_below_each_other(phone: Page, sandbox: Sandbox) -> None:
    open_at(phone, sandbox, "bash/exec")
    text, trial = (phone.locator(selector).bounding_box() for selector in (".text", ".try"))

    assert text
    assert trial
    assert trial["y"] > text["y"]
    assert phone.evaluate("document.documentElement.scrollWidth") <= 390
