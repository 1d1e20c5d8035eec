"""Draws a scene on the desktop that is watched, over everything else: `source.py still|click|film|scroll|beside|type|slides SECONDS`.

Runs in the container of the product. Pictures are in the X server before they are shown, so that showing one costs next to nothing. On
SIGUSR1 what moves stops, and stays. `source.py grab 0` writes what is on the screen.
"""

import itertools
import json
import signal
import sys
import threading
import time
from collections.abc import Callable

import scenes
from Xlib import X
from Xlib import display as xlib


class Scene:
    """A window over the whole screen."""

    def __init__(self) -> None:
        self.display = xlib.Display("unix/:99")
        screen = self.display.screen()
        self.depth = screen.root_depth
        self.window = screen.root.create_window(
            0, 0, *scenes.SCREEN, 0, self.depth, background_pixel=0x336699, override_redirect=True, event_mask=X.ButtonPressMask
        )
        self.gc = self.window.create_gc()
        self.window.map()
        self.window.configure(stack_mode=X.Above)
        for number, colour in enumerate(scenes.MARK):
            self.fill((number * scenes.CELL, 0, scenes.CELL, scenes.CELL), colour)
        self.number(0)

    def fill(self, area: tuple[int, int, int, int], colour: tuple[int, int, int]) -> None:
        """Fill an area of the window."""
        self.gc.change(foreground=colour[0] << 16 | colour[1] << 8 | colour[2])
        self.window.fill_rectangle(self.gc, *area)

    def number(self, number: int) -> None:
        """Show the number of a picture; what was drawn before is on the screen when this returns."""
        gray = number ^ number >> 1
        for bit in range(scenes.CODE_BITS):
            left = scenes.CODE_AT[0] + bit * scenes.CELL
            self.fill((left, scenes.CODE_AT[1], scenes.CELL, scenes.CELL), (255,) * 3 if gray >> bit & 1 else (0,) * 3)
        self.display.sync()

    def pixmap(self, image: "scenes.Image.Image") -> object:
        """A picture in the X server."""
        made = self.window.create_pixmap(*image.size, self.depth)
        made.put_pil_image(made.create_gc(), 0, 0, image)
        self.display.sync()
        return made

    def show(self, pixmap: object, area: tuple[int, int, int, int], top: int = 0) -> None:
        """Show a part of a picture from the row `top` on."""
        self.window.copy_area(self.gc, pixmap, 0, top, area[2], area[3], area[0], area[1])


def run(scene: Scene, draw: Callable[[int], None], rate: float, seconds: float, numbered: bool = True) -> None:
    """Draw picture after picture at a rate; at the end, or when stopped, say how that went: what is late here is no viewer's fault."""
    drawn: list[float] = []
    stopped = threading.Event()
    signal.signal(signal.SIGUSR1, lambda *_: stopped.set())
    ready()
    start = time.monotonic()
    while not stopped.is_set() and time.monotonic() < start + seconds:
        draw(len(drawn) + 1)
        if numbered:
            scene.number((len(drawn) + 1) & 0xFFFF)
        scene.display.sync()
        drawn.append(time.monotonic())
        time.sleep(max(0.0, start + len(drawn) / rate - time.monotonic()))
    report(drawn, rate)
    if stopped.is_set():
        signal.pause()


def report(drawn: list[float], rate: float) -> None:
    """Say how many pictures a second there were, and what share of them was on the screen too late."""
    gaps = [after - before for before, after in itertools.pairwise(drawn)]
    found = {"fps": len(gaps) / max(sum(gaps), 1e-9), "late": sum(gap > 1.5 / rate for gap in gaps) / max(len(gaps), 1)}
    sys.stdout.write(json.dumps(found) + "\n")
    sys.stdout.flush()


def ready() -> None:
    """Say that the scene begins."""
    sys.stdout.write("ready\n")
    sys.stdout.flush()


def click(scene: Scene, seconds: float) -> None:
    """Change the target's colour at each click."""
    ready()
    end, lit = time.monotonic() + seconds, False
    while time.monotonic() < end:
        if not scene.display.pending_events():
            time.sleep(0.0005)
            continue
        if scene.display.next_event().type == X.ButtonPress:
            lit = not lit
            scene.fill(scenes.TARGET, (240,) * 3 if lit else (20,) * 3)
            scene.display.sync()


def grab() -> None:
    """Write what is on the screen: rows of blue, green, red and an unused byte."""
    root = xlib.Display("unix/:99").screen().root
    sys.stdout.buffer.write(root.get_image(0, 0, *scenes.SCREEN, X.ZPixmap, 0xFFFFFFFF).data)


def main() -> None:
    """Draw the scene that is asked for."""
    kind, seconds = sys.argv[1], float(sys.argv[2])
    if kind == "grab":
        grab()
        return
    scene = Scene()
    if kind == "film":
        pictures = [scene.pixmap(scenes.film(number)) for number in range(scenes.FILM_FRAMES)]
        run(scene, lambda n: scene.show(pictures[n % scenes.FILM_FRAMES], scenes.FILM), scenes.FILM_RATE, seconds)
    elif kind == "scroll":
        page, room = scene.pixmap(scenes.page()), scenes.PAGE_HEIGHT - scenes.PAGE[3]
        run(scene, lambda n: scene.show(page, scenes.PAGE, n * scenes.SCROLL_STEP % room), scenes.SCROLL_RATE, seconds)
    elif kind == "beside":
        page, room = scene.pixmap(scenes.page()), scenes.PAGE_HEIGHT - scenes.PAGE[3]
        pictures = [scene.pixmap(scenes.film(number)) for number in range(scenes.FILM_FRAMES)]

        def both(number: int) -> None:
            scene.show(pictures[number % scenes.FILM_FRAMES], scenes.BESIDE_FILM)
            if number % 2:
                scene.show(page, scenes.BESIDE_PAGE, number * scenes.SCROLL_STEP // 2 % room)

        run(scene, both, scenes.FILM_RATE, seconds)
    elif kind == "slides":
        slides = [scene.pixmap(scenes.slide(number)) for number in range(6)]
        run(scene, lambda n: scene.show(slides[n % 6], scenes.PAGE), scenes.SLIDE_RATE, seconds)
    elif kind == "type":
        run(
            scene,
            lambda n: scene.window.draw_text(scene.gc, 200 + n * 8 % 800, 300 + n // 100 * 20, b"etaoin"[n % 6 : n % 6 + 1]),
            scenes.TYPE_RATE,
            seconds,
            numbered=False,
        )
    elif kind == "click":
        click(scene, seconds)
    else:
        ready()
        time.sleep(seconds)


main()
