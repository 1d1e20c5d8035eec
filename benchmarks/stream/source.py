"""Draws scenes on the desktop that is watched, over everything else: `source.py KIND SECONDS`, or by lines on its standard input.

Runs in the container of the product. Pictures are in the X server before they are shown, so that showing one costs next to nothing.
Each line names the next scene: still, click, video, scroll, beside, type or slides. It is answered with `ready`. `stop` stops what moves,
which stays to be seen, and is answered with how it went, in JSON. `grab` is answered with the length of what is on the screen and then
that: rows of blue, green, red and an unused byte.
"""

import io
import itertools
import json
import select
import sys
import time
from collections.abc import Callable
from functools import cache

import scenes
from Xlib import X
from Xlib import display as xlib

SLIDES = 6
Wait = Callable[[float], bool]
"""Waits for so many seconds at most; whether the scene is over."""


class Scene:
    """A window over the whole screen."""

    def __init__(self) -> None:
        self.display = xlib.Display("unix/:99")
        self.root = self.display.screen().root
        self.depth = self.display.screen().root_depth
        self.window = self.root.create_window(
            0, 0, *scenes.SCREEN, 0, self.depth, background_pixel=0x336699, override_redirect=True, event_mask=X.ButtonPressMask
        )
        self.gc = self.window.create_gc()
        self.window.map()
        self.clear()

    def clear(self) -> None:
        """Nothing is on the window but the mark and the number nought."""
        self.window.configure(stack_mode=X.Above)
        self.window.clear_area()
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


def run(scene: Scene, draw: Callable[[int], None], rate: float, wait: Wait, numbered: bool = True) -> dict[str, float]:
    """Draw picture after picture at a rate, and give how that went: what is late here is no viewer's fault."""
    drawn: list[float] = []
    start = time.monotonic()
    while not wait(start + len(drawn) / rate - time.monotonic()):
        draw(len(drawn) + 1)
        if numbered:
            scene.number((len(drawn) + 1) & 0xFFFF)
        scene.display.sync()
        drawn.append(time.monotonic())
    gaps = [after - before for before, after in itertools.pairwise(drawn)]
    return {"fps": len(gaps) / max(sum(gaps), 1e-9), "late": sum(gap > 1.5 / rate for gap in gaps) / max(len(gaps), 1)}


def say(line: str) -> None:
    """Answer."""
    sys.stdout.write(line + "\n")
    sys.stdout.flush()


def click(scene: Scene, wait: Wait) -> None:
    """Change the target's colour at each click."""
    lit = False
    while not wait(0.0005):
        if scene.display.pending_events() and scene.display.next_event().type == X.ButtonPress:
            lit = not lit
            scene.fill(scenes.TARGET, (240,) * 3 if lit else (20,) * 3)
            scene.display.sync()


@cache
def video(scene: Scene) -> list[object]:
    """The video's pictures."""
    return [scene.pixmap(scenes.video(number)) for number in range(scenes.VIDEO_FRAMES)]


@cache
def page(scene: Scene) -> object:
    """The long page."""
    return scene.pixmap(scenes.page())


@cache
def slides(scene: Scene) -> list[object]:
    """The slides."""
    return [scene.pixmap(scenes.slide(number)) for number in range(SLIDES)]


def beside(scene: Scene, number: int) -> None:
    """A picture of the video, and of the page beside it at every other one."""
    scene.show(video(scene)[number % scenes.VIDEO_FRAMES], scenes.BESIDE_VIDEO)
    if number % 2:
        scene.show(page(scene), scenes.BESIDE_PAGE, scenes.top(number // 2))


def character(scene: Scene, number: int) -> None:
    """A character beside the one before."""
    scene.window.draw_text(scene.gc, 200 + number * 8 % 800, 300 + number // 100 * 20, b"etaoin"[number % 6 : number % 6 + 1])


DRAWS: dict[str, tuple[Callable[[Scene, int], None], float]] = {
    "video": (lambda scene, n: scene.show(video(scene)[n % scenes.VIDEO_FRAMES], scenes.VIDEO), scenes.VIDEO_RATE),
    "scroll": (lambda scene, n: scene.show(page(scene), scenes.PAGE, scenes.top(n)), scenes.SCROLL_RATE),
    "beside": (beside, scenes.VIDEO_RATE),
    "slides": (lambda scene, n: scene.show(slides(scene)[n % SLIDES], scenes.PAGE), scenes.SLIDE_RATE),
    "type": (character, scenes.TYPE_RATE),
}
"""What moves: how its picture of that number is drawn, and how many there are a second."""
NEEDS: dict[str, tuple[Callable[[Scene], object], ...]] = {
    "video": (video,),
    "scroll": (page,),
    "beside": (video, page),
    "slides": (slides,),
}
"""What is to be in the X server before."""


def play(scene: Scene, kind: str, wait: Wait) -> None:
    """Draw a scene until it is over."""
    for make in NEEDS.get(kind, ()):
        make(scene)
    scene.clear()
    say("ready")
    found: dict[str, float] = {}
    if kind in DRAWS:
        draw, rate = DRAWS[kind]
        found = run(scene, lambda number: draw(scene, number), rate, wait, numbered=kind != "type")
    elif kind == "click":
        click(scene, wait)
    else:
        while not wait(3600):
            pass
    say(json.dumps(found))


def serve(scene: Scene) -> None:
    """Draw what each line names, until there are no more."""
    lines = io.FileIO(0, closefd=False)

    def wait(seconds: float) -> bool:
        return bool(select.select([lines], [], [], max(0.0, seconds))[0])

    while kind := lines.readline().decode().strip():
        if kind == "grab":
            pixels = scene.root.get_image(0, 0, *scenes.SCREEN, X.ZPixmap, 0xFFFFFFFF).data
            say(str(len(pixels)))
            sys.stdout.buffer.write(pixels)
            sys.stdout.buffer.flush()
        elif kind != "stop":
            play(scene, kind, wait)


def main() -> None:
    """Draw the scene that is asked for, or what is asked for on standard input."""
    scene = Scene()
    if len(sys.argv) == 1:
        serve(scene)
        return
    end = time.monotonic() + float(sys.argv[2])

    def wait(seconds: float) -> bool:
        time.sleep(max(0.0, min(seconds, end - time.monotonic())))
        return time.monotonic() >= end

    play(scene, sys.argv[1], wait)


main()
