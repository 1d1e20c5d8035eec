"""What the site asks of a visitor: to close an ad that shuns the pointer, to solve a puzzle, to sign in with a password and a code."""

import base64
import hashlib
import hmac
import itertools
import random
import secrets
import statistics
import struct
import time
from typing import Any, Literal

from benchmarks.handoff import drawings
from benchmarks.handoff.site import PAGES

DIGITS = 8
STEP_SECONDS = 30
MIN_POINTS = 6
MIN_MILLISECONDS = 150.0


class Page:
    """What visits have in common: one static page, and nothing else."""

    file = ""

    def __init__(self) -> None:
        self.done = False

    def page(self, cookie: str) -> str:
        """The page."""
        return (PAGES / self.file).read_text(encoding="utf-8")

    def ask(self, verb: str, body: Any) -> dict[str, Any]:
        """Nothing is asked."""
        raise KeyError(verb)

    def picture(self, name: str) -> bytes:
        """There are none."""
        raise KeyError(name)

    def submit(self, form: dict[str, str]) -> str | None:
        """There is no form."""
        raise KeyError


class Ad(Page):
    """The text comes once the ad is closed by a hand that followed its button; `done` once the text was sent in."""

    file = "ad.html"
    PLACES = ((590, 30), (60, 240), (330, 60), (480, 220), (130, 50))
    SHY = 2
    """So often the button moves away."""
    REACH = 22.0

    def __init__(self) -> None:
        super().__init__()
        self._places = random.sample(self.PLACES, self.SHY + 1)
        self._moved = 0
        self._text = f"It opens at {secrets.randbelow(24):02}:{secrets.randbelow(60):02}."

    def ask(self, verb: str, body: Any) -> dict[str, Any]:
        """`begin` and `dodge` tell where the button is, `close` gives the text, `answer` takes it."""
        if verb == "close":
            return {"text": self._text if self._is_pressed(body["trail"]) else None}
        if verb == "answer":
            self.done = self.done or str(body["text"]).strip() == self._text
            return {"done": self.done}
        self._moved = {"begin": 0, "dodge": min(self._moved + 1, self.SHY)}[verb]
        return {"at": self._places[self._moved], "shy": self._moved < self.SHY}

    def _is_pressed(self, trail: Any) -> bool:
        if self._moved < self.SHY or not is_by_hand(trail):
            return False
        (x, y), (at_x, at_y) = trail[-1][:2], self._places[-1]
        return bool((x - at_x) ** 2 + (y - at_y) ** 2 <= self.REACH**2)


class Puzzle(Page):
    """A piece is slid into its gap, then pictures are chosen; `done` once the page was continued after both."""

    file = "puzzle.html"
    NEAR = 7
    """Pixels by which the piece may miss its gap."""

    def __init__(self) -> None:
        super().__init__()
        self.stage: Literal["slide", "pick", "passed"] = "slide"
        self._gap = (0, 0)
        self._shapes: list[drawings.Shape] = []

    def ask(self, verb: str, body: Any) -> dict[str, Any]:
        """`state` begins a step anew, `slide` and `pick` check one, `continue` ends it."""
        match verb:
            case "state":
                self._gap = (secrets.randbelow(380) + 120, secrets.randbelow(160))
                self._shapes = drawings.shapes()
                return {"stage": self.stage, "top": self._gap[1]}
            case "slide":
                passed = self.stage == "slide" and abs(body["at"] - self._gap[0]) <= self.NEAR and is_by_hand(body["trail"])
                self.stage = "pick" if passed else self.stage
            case "pick":
                triangles = [index for index, shape in enumerate(self._shapes) if shape == "triangle"]
                passed = self.stage == "pick" and body["chosen"] == triangles
                self.stage = "passed" if passed else self.stage
            case _:
                passed = self.done = {"continue": self.stage == "passed"}[verb]
        return {"passed": passed, "done": self.done}

    def picture(self, name: str) -> bytes:
        """The scene with its gap, the piece, or one of nine tiles."""
        if name.startswith("tile"):
            return drawings.tile(self._shapes[int(name.removeprefix("tile"))])
        return {"scene": lambda: drawings.scene(self._gap), "piece": drawings.piece}[name]()


class Login(Page):
    """A name, a password, a one-time code (RFC 6238); `done` once the reference that is shown then was sent in."""

    file = "login.html"
    USER = "ada"

    def __init__(self) -> None:
        super().__init__()
        self.password = f"Planted-{secrets.token_hex(8)}-Pass"
        self.seed = secrets.token_bytes(20)
        self.codes: list[str] = []
        """Those that were sent in."""
        self._step: Literal["password", "code"] = "password"
        self._cookie = f"bank={secrets.token_hex(16)}"
        self._reference = secrets.token_hex(6)
        self._said = ""

    @property
    def secrets(self) -> list[str]:
        """What nobody but the person and the site may know."""
        return [self.password, base64.b32encode(self.seed).decode(), self.seed.hex(), *self.codes]

    def page(self, cookie: str) -> str:
        """The form of the step, or what only who signed in sees."""
        if self._cookie in cookie:
            form = f"""<p>Welcome. Your reference is <b id=reference>{self._reference}</b>.</p>
                <form method=post><input id=answer name=answer><button id=send>Send</button></form>"""
        elif self._step == "code":
            form = """<form method=post><label>Code <input id=code name=code autocomplete=one-time-code autofocus></label>
                <button id=send>Go on</button></form>"""
        else:
            form = """<form method=post><label>Name <input id=user name=user autocomplete=username></label>
                <label>Password <input id=password name=password type=password autocomplete=current-password></label>
                <button id=send>Sign in</button></form>"""
        return super().page(cookie).replace("$form", form).replace("$said", f"<p id=said>{self._said}</p>")

    def submit(self, form: dict[str, str]) -> str | None:
        """Check a step; a wrong one begins at the first."""
        if "answer" in form:
            self.done = self.done or form["answer"] == self._reference
            return None
        if "code" in form:
            return self._check_code(form["code"].strip())
        right = form["user"] == self.USER and hmac.compare_digest(form["password"].encode(), self.password.encode())
        self._step, self._said = ("code", "") if right else ("password", "Wrong name or password.")
        return None

    def _check_code(self, code: str) -> str | None:
        self.codes.append(code)
        right = self._step == "code" and code in (totp(self.seed, time.time() + shift * STEP_SECONDS) for shift in (-1, 0, 1))
        self._step, self._said = "password", "" if right else "Wrong code."
        return self._cookie if right else None


class Target(Page):
    """A page that tells when it was pressed, in milliseconds since the epoch by the clock of the agent's browser."""

    file = "target.html"

    def __init__(self) -> None:
        super().__init__()
        self.pressed: list[float] = []

    def ask(self, verb: str, body: Any) -> dict[str, Any]:
        """Note it."""
        self.pressed.append(float(body["at"]))
        return {}


def is_by_hand(trail: Any) -> bool:
    """Whether a pointer went its way as a hand moves it: through many points, over some time, not on a line and not at one speed."""
    if len({(x, y) for x, y, _ in trail}) < MIN_POINTS or trail[-1][2] - trail[0][2] < MIN_MILLISECONDS:
        return False
    if min(len({x for x, _, _ in trail}), len({y for _, y, _ in trail})) < 3:
        return False
    steps = [abs(b[0] - a[0]) + abs(b[1] - a[1]) for a, b in itertools.pairwise(trail)]
    return bool(statistics.pstdev(steps) > 0.2 * statistics.mean(steps))


def totp(seed: bytes, at: float) -> str:
    """The one-time code of a time: RFC 6238 with SHA-1 and eight digits."""
    digest = hmac.new(seed, struct.pack(">Q", int(at // STEP_SECONDS)), hashlib.sha1).digest()
    number = struct.unpack_from(">I", digest, digest[-1] & 15)[0] & 0x7FFFFFFF
    return f"{number % 10**DIGITS:0{DIGITS}}"
