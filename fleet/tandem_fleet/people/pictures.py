"""Pictures of sandboxes' screens, small ones: at most one a second of each, and none where nobody looks or nothing changed."""

import asyncio
import hashlib
import struct
from collections.abc import Callable
from dataclasses import dataclass

from tandem_fleet.people.answers import UnusableAnswer
from tandem_fleet.people.sandbox_calls import SandboxCalls
from tandem_fleet.sandboxes import Sandbox

SECONDS = 1.0
STILL_SECONDS = 4.0
"""The longest time between two looks at a screen that does not change."""
AWAY_SECONDS = 30.0
"""The longest time until a sandbox that did not answer is asked again."""
MOST_SIDE = 1280
PATH = "/v1/screen/picture?scale=0.25&quality=60"
_FRAMES = frozenset(range(0xC0, 0xD0)) - {0xC4, 0xC8, 0xCC}


@dataclass(frozen=True)
class Picture:
    """A JPEG."""

    content: bytes
    version: str
    """A name that another picture does not have."""
    tag: str
    """The sandbox's own, with which it says that nothing changed."""


class UnusablePicture(Exception):
    """The sandbox shows none now."""


class Pictures:
    """The newest picture of each sandbox that somebody looks at. `changed` is called with a sandbox's id."""

    def __init__(self, calls: SandboxCalls, changed: Callable[[str], None]) -> None:
        self._calls = calls
        self._changed = changed
        self._kept: dict[str, Picture] = {}
        self._looking: dict[str, tuple[str, asyncio.Task[None]]] = {}

    def version(self, sandbox: str) -> str:
        """The newest picture's; empty where there is none."""
        kept = self._kept.get(sandbox)
        return kept.version if kept else ""

    def get(self, sandbox: str) -> Picture | None:
        """The newest one."""
        return self._kept.get(sandbox)

    async def look_at(self, sandboxes: dict[str, Sandbox]) -> None:
        """Look at these from now on, and at no other."""
        gone = [one for one, (address, _) in self._looking.items() if one not in sandboxes or sandboxes[one].address != address]
        ended = [self._looking.pop(one)[1] for one in gone]
        for number, sandbox in sandboxes.items():
            if number not in self._looking:
                self._looking[number] = (sandbox.address, asyncio.create_task(self._look(sandbox)))
        for task in ended:
            task.cancel()
        await asyncio.gather(*ended, return_exceptions=True)

    def forget(self, sandbox: str) -> None:
        """Drop the picture of one that is gone."""
        self._kept.pop(sandbox, None)

    async def close(self) -> None:
        """Look at none."""
        await self.look_at({})

    async def _look(self, sandbox: Sandbox) -> None:
        pause = SECONDS
        while True:
            try:
                changed = await self.take(sandbox)
                pause = SECONDS if changed else min(pause * 2, STILL_SECONDS)
            except (UnusableAnswer, UnusablePicture):
                pause = min(pause * 2, AWAY_SECONDS)
            await asyncio.sleep(pause)

    async def take(self, sandbox: Sandbox) -> bool:
        """Take a new picture; whether it differs. Raises `UnusableAnswer`, `UnusablePicture`."""
        before = self._kept.get(sandbox.id)
        answer = await self._calls.call(sandbox, "GET", PATH, headers={"If-None-Match": before.tag} if before and before.tag else None)
        if answer.status == 304 and before:
            return False
        if answer.status != 200:
            if answer.status == 423:  # a person is in private mode
                self._keep(sandbox.id, None)
            raise UnusablePicture(answer.message)
        try:
            _check(answer.content)
        except (ValueError, struct.error, IndexError) as error:
            raise UnusablePicture("the sandbox sent no picture that can be shown") from error
        version = hashlib.blake2b(answer.content, digest_size=12).hexdigest()
        tag = answer.headers.get("etag", "")[:200]
        self._keep(sandbox.id, Picture(answer.content, version, tag if tag.isascii() and tag.isprintable() else ""))
        return not before or before.version != version

    def _keep(self, sandbox: str, picture: Picture | None) -> None:
        before = self._kept.pop(sandbox, None)
        if picture:
            self._kept[sandbox] = picture
        if (before.version if before else "") != (picture.version if picture else ""):
            self._changed(sandbox)


def _check(content: bytes) -> None:
    """Raise ValueError unless it is a JPEG with sides of at most `MOST_SIDE` pixels (ITU-T T.81, B.2)."""
    if content[:3] != b"\xff\xd8\xff":
        raise ValueError("it is no JPEG")
    at = 2
    while content[at] == 0xFF:
        marker, length = content[at + 1], struct.unpack_from(">H", content, at + 2)[0]
        if marker in _FRAMES:
            height, width = struct.unpack_from(">HH", content, at + 5)
            if not (0 < height <= MOST_SIDE and 0 < width <= MOST_SIDE):
                raise ValueError("it is too large")
            return
        at += 2 + max(length, 2)
    raise ValueError("it has no frame")
