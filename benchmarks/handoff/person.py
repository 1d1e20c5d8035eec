"""A person: a browser of its own on `/view`, eyes that see what the page shows, and a hand on its mouse and keyboard. Nothing else."""

import io
import math
import random
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass

from PIL import Image, ImageChops
from playwright.sync_api import Browser, Locator, Page, ViewportSize, expect, sync_playwright

PATIENCE_MS = 30_000
WINDOW: ViewportSize = {"width": 2080, "height": 1130}
"""Wide enough for the screen beside the request."""
STEP_MS = 18.0
"""Between two places of the pointer; a viewer sends no more."""
TOLERANCE = 45
SEEN_PIXELS = 60
"""Fewer of a colour are nothing."""

_NOTING = """() => addEventListener("pointerdown", (event) => {
  window.pressedAt = performance.timeOrigin + event.timeStamp;
}, {capture: true, once: true})"""

type Colour = tuple[int, int, int]


@dataclass(frozen=True, slots=True)
class Spot:
    """Something seen: its edges, in pixels of the person's page."""

    left: float
    top: float
    right: float
    bottom: float

    @property
    def centre(self) -> tuple[float, float]:
        """Its middle."""
        return (self.left + self.right) / 2, (self.top + self.bottom) / 2

    def holds(self, x: float, y: float) -> bool:
        """Whether a point is in it."""
        return self.left <= x <= self.right and self.top <= y <= self.bottom

    def is_at(self, other: "Spot") -> bool:
        """Whether it has not moved."""
        return abs(self.left - other.left) <= 1 and abs(self.top - other.top) <= 1

    def is_as_large_as(self, other: "Spot") -> bool:
        """Whether it has the size of another."""
        width, height = self.right - self.left, self.bottom - self.top
        return abs(width - (other.right - other.left)) <= 1 and abs(height - (other.bottom - other.top)) <= 1


class Person:
    """Somebody who looks at the computer."""

    def __init__(self, page: Page) -> None:
        self.page = page
        self._at = (0.0, 0.0)
        self.haste = 1.0
        """Of the hand: less is slower."""

    @property
    def canvas(self) -> Locator:
        """Where the computer's screen is shown."""
        return self.page.locator("#screen canvas").first

    @property
    def card(self) -> Locator:
        """What the agent asks for."""
        return self.page.locator("#handoffs .card").first

    def wait_for_request(self) -> None:
        """Return once there is one."""
        expect(self.card).to_be_visible(timeout=PATIENCE_MS)

    def take_it_on(self) -> None:
        """Say so, and have control then."""
        self.card.get_by_role("button", name="Take this on").click()
        expect(self.page.locator("#driver")).to_have_text("You drive", timeout=PATIENCE_MS)

    def answer(self, outcome: str) -> None:
        """Answer the request, which gives control back."""
        self.card.get_by_role("button", name=outcome, exact=True).click()
        expect(self.card).to_have_count(0, timeout=PATIENCE_MS)

    def give_back(self) -> None:
        """Let the agent go on."""
        self.page.locator("#actions").get_by_role("button", name="Hand back to agent").click()
        expect(self.page.locator("#driver")).to_have_text("The agent drives", timeout=PATIENCE_MS)

    def cookies(self) -> list[str]:
        """What signs this browser in, and nobody else may know."""
        return [cookie.get("value", "") for cookie in self.page.context.cookies()]

    def press_timed(self) -> float:
        """Press, and tell when that was, in milliseconds since the epoch by the clock of this browser."""
        self.page.evaluate(_NOTING)
        self.page.mouse.down()
        self.page.mouse.up()
        return float(self.page.evaluate("pressedAt"))

    def look(self) -> tuple[Image.Image, float, float]:
        """The screen as it is shown, and where its corner is."""
        box = self.canvas.bounding_box()
        assert box, "the screen is not shown"
        picture = Image.open(io.BytesIO(self.page.screenshot(clip=box))).convert("RGB")
        return picture, box["x"], box["y"]

    def glimpse(self, colour: Colour) -> Spot | None:
        """Where a colour is just now; None for nowhere."""
        seen, x, y = self.look()
        mask = _where(seen, colour)
        edges = mask.getbbox()
        if edges is None or mask.histogram()[255] < SEEN_PIXELS:
            return None
        return Spot(x + edges[0], y + edges[1], x + edges[2], y + edges[3])

    def find(self, colour: Colour) -> Spot:
        """Where a colour is, once it stays where it is."""
        spots: list[Spot | None] = [None]

        def rests() -> bool:
            spots.append(self.glimpse(colour))
            last, before = spots[-1], spots[-2]
            return bool(last and before and last.is_at(before))

        self.until(rests, f"the colour {colour} is not seen")
        found = spots[-1]
        assert found
        return found

    def until(self, true: Callable[[], object], otherwise: str) -> None:
        """Look again and again until something is so."""
        assert self.sees(true, PATIENCE_MS / 1000), otherwise

    def sees(self, true: Callable[[], object], within: float) -> bool:
        """Look again and again; whether something is so within some seconds."""
        deadline = time.monotonic() + within
        while not true():
            if time.monotonic() >= deadline:
                return False
            self.page.wait_for_timeout(STEP_MS)
        return True

    def move(self, x: float, y: float) -> None:
        """Move the pointer as a hand does: in a bow, slow at both ends."""
        from_x, from_y = self._at
        steps = 16 + int(math.hypot(x - from_x, y - from_y) / 40)
        bow = random.choice((-1, 1)) * random.uniform(0.04, 0.08)
        for step in range(1, steps + 1):
            part = (1 - math.cos(math.pi * step / steps)) / 2
            side = bow * math.sin(math.pi * part)
            at_x = from_x + (x - from_x) * part + (y - from_y) * side
            at_y = from_y + (y - from_y) * part - (x - from_x) * side
            self.page.mouse.move(at_x, at_y)
            self.page.wait_for_timeout(STEP_MS / self.haste)
        self._at = (x, y)

    def click(self, x: float, y: float) -> None:
        """Go there, and press."""
        self.move(x, y)
        self.page.mouse.click(x, y)

    @contextmanager
    def dragging(self, x: float, y: float) -> Iterator[None]:
        """Hold what is there, for as long as the context."""
        self.move(x, y)
        self.page.mouse.down()
        yield
        self.page.mouse.up()

    def type(self, text: str) -> None:
        """Type it, key by key, with Shift for capitals."""
        for character in text:
            self.page.keyboard.press(f"Shift+{character}" if character.isupper() else character, delay=STEP_MS)

    def key(self, name: str) -> None:
        """Press one key."""
        self.page.keyboard.press(name)


def _where(seen: Image.Image, colour: Colour) -> Image.Image:
    """White where that colour is, black elsewhere."""
    red, green, blue = (
        channel.point([255 * (abs(value - wanted) <= TOLERANCE) for value in range(256)])
        for channel, wanted in zip(seen.split(), colour, strict=True)
    )
    return ImageChops.darker(ImageChops.darker(red, green), blue)


@contextmanager
def browsing() -> Iterator[Browser]:
    """The person's own browser."""
    with sync_playwright() as playwright:
        launched = playwright.chromium.launch(executable_path="/usr/bin/chromium", args=["--no-sandbox", "--disable-dev-shm-usage"])
        try:
            yield launched
        finally:
            launched.close()


@contextmanager
def watching(browser: Browser, address: str) -> Iterator[Person]:
    """Somebody who opened `/view` by that address, which signs in, and sees the screen."""
    context = browser.new_context(viewport=WINDOW, locale="en-GB")
    page = context.new_page()
    page.set_default_timeout(PATIENCE_MS)
    page.goto(address)
    person = Person(page)
    page.locator("main[data-picture=connected]").wait_for()
    expect(person.canvas).to_be_visible(timeout=PATIENCE_MS)
    try:
        yield person
    finally:
        with suppress(Exception):  # the test's own failure is the news
            context.close()
