"""The film's story, in a container of the tests' image.

Usage: python -m benchmarks.film.play URL KEY HOST FILE. HOST is the name by which the product reaches this container.
"""

import sys
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from functools import partial
from pathlib import Path

from playwright.sync_api import Page, ViewportSize, expect, sync_playwright

from benchmarks.film.agent import Agent
from benchmarks.film.camera import Camera
from benchmarks.film.shop import serving
from benchmarks.handoff.person import PATIENCE_MS, Person

WINDOW: ViewportSize = {"width": 1280, "height": 720}
FIELD = (0, 150, 60)
"""The colour of the field for the password."""
PASSWORD = "correct horse"
STEP_MS = 40
PAINTED_MS = 1500
"""Until the computer's screen is surely shown."""


@contextmanager
def seen(base_url: str, agent: Agent) -> Iterator[Page]:
    """The page of a person who signed in and watches."""
    options = ["--no-sandbox", "--disable-dev-shm-usage", f"--unsafely-treat-insecure-origin-as-secure={base_url}"]
    with sync_playwright() as playwright, playwright.chromium.launch(executable_path="/usr/bin/chromium", args=options) as browser:
        page = browser.new_page(viewport=WINDOW, locale="en-GB")
        page.set_default_timeout(PATIENCE_MS)
        page.goto(f"{base_url}/view?ticket={agent.invite()}")
        page.locator("main[data-picture=connected]").wait_for()
        yield page


def play(page: Page, agent: Agent, shop: str) -> Camera:
    """Everything that happens, before the camera."""
    agent.open(shop)
    page.wait_for_timeout(PAINTED_MS)
    person, camera = Person(page), Camera(page)
    order(page, agent, camera)
    sign_in(page, person, agent, camera)
    camera.said = "You hand back. The agent goes on where you left off."
    page.wait_for_timeout(600)
    during(page, lambda: agent.point("Place the order"))
    page.wait_for_timeout(1200)
    camera.said = "Afterwards the recorder says who did what, with the screen of each moment."
    recorder(page)
    camera.still("recorder.webp")
    return camera


def order(page: Page, agent: Agent, camera: Camera) -> None:
    """The agent fills in the form."""
    camera.said = "Your agent uses a real computer. You watch it live."
    page.wait_for_timeout(600)
    for name, text in (("Article", "Recycled paper A4"), ("Boxes", "5"), ("Deliver to", "Main Street 12")):
        during(page, partial(agent.type, name, text))
    during(page, lambda: agent.point("Continue"))
    page.wait_for_timeout(700)


def sign_in(page: Page, person: Person, agent: Agent, camera: Camera) -> None:
    """The agent asks, and the person signs in."""
    camera.said = "It meets a sign-in, and asks you."
    with agent.asking(kind="login", reason="The shop wants Ada's password.", instructions="Sign in, then hand back."):
        person.wait_for_request()
        page.wait_for_timeout(1500)
        camera.still("view.webp")
        person.take_it_on()
        camera.said = "You take over and type the password. Private mode hides it from the agent."
        person.click(*person.find(FIELD).centre)
        page.wait_for_timeout(500)
        person.type(PASSWORD)
        page.wait_for_timeout(500)
        camera.still("view-you.webp")
        person.key("Enter")
        page.wait_for_timeout(1200)
        person.answer("Done")


def recorder(page: Page) -> None:
    """The record of all of it."""
    page.goto(page.url.partition("/view")[0] + "/recorder")
    expect(page.locator("main")).to_be_visible()
    page.wait_for_timeout(1200)
    page.locator("#speed label").last.click()
    page.get_by_role("button", name="Play", exact=True).click()
    page.wait_for_timeout(4500)


def during(page: Page, act: Callable[[], None]) -> None:
    """Let the agent act while the page is painted: its acts are calls, which would hold up the camera."""
    with ThreadPoolExecutor(1) as pool:
        acting = pool.submit(act)
        while not acting.done():
            page.wait_for_timeout(STEP_MS)
        acting.result()


def main() -> None:
    """Play, film, and write the film."""
    base_url, key, host, file = sys.argv[1:5]
    agent = Agent(base_url, key)
    with serving(), seen(base_url, agent) as page:
        camera = play(page, agent, f"http://{host}/order")
        camera.stop()
    camera.save(Path(file))


if __name__ == "__main__":
    main()
