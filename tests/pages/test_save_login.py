"""A person keeps what the browser is signed in to, on /view."""

from playwright.sync_api import Page, expect

from tests.image.container import Sandbox


def test_a_login_is_saved_under_a_name_once(person: Page, sandbox: Sandbox) -> None:
    person.goto(f"{sandbox.base_url}/view")
    person.get_by_role("button", name="Save login").click()
    name, saved = person.get_by_label("Name of the profile"), person.locator("#saved")
    name.fill("Not a name")
    person.get_by_role("button", name="Save", exact=True).click()
    expect(saved).to_be_empty()  # the browser itself refuses it
    for told in ("Saved as of-a-person.", "That did not work: there is a profile 'of-a-person'"):
        name.fill("of-a-person")
        person.get_by_role("button", name="Save", exact=True).click()
        expect(saved).to_have_text(told)
    assert sandbox.request("DELETE", "/v1/profiles/of-a-person").status_code == 200
