"""Mouse and keyboard input for any window: XInput 2's raw events (inputproto 2.2, section 4.4), XTest's included."""

import struct
from dataclasses import dataclass
from typing import Any

from Xlib.ext import ge, xinput

from sandbox_server.drivers.x11.connection import Display

MOVED, PRESSED, RELEASED = xinput.RawMotion, xinput.RawButtonPress, xinput.RawButtonRelease
KEY_PRESSED, KEY_RELEASED = xinput.RawKeyPress, xinput.RawKeyRelease
_ALL = sum(1 << kind for kind in (MOVED, PRESSED, RELEASED, KEY_PRESSED, KEY_RELEASED))
_VERSION = (2, 2)
"""From 2.1 on they also come while a program has grabbed the device, as each pressed program does."""
_BODY = struct.Struct("<HIIHHI")
"""Device, time, detail, source, number of words of valuators, flags; after the head of all generic events."""


@dataclass(frozen=True, slots=True)
class Raw:
    """One event: its kind, the button or keycode, and the X server's time in milliseconds."""

    kind: int
    detail: int
    when: int
    repeated: bool
    """Whether it is an auto-repeat of a held key."""


def follow(display: Display, *, follows: bool) -> None:
    """Subscribe to raw events, or unsubscribe."""
    major = display.display.get_extension_major(xinput.extname)
    xinput.XIQueryVersion(display=display.display, opcode=major, major_version=_VERSION[0], minor_version=_VERSION[1])
    display.screen().root.xinput_select_events([(xinput.AllMasterDevices, _ALL if follows else 0)])
    display.sync()


def read(display: Display, event: Any) -> Raw | None:
    """Parse an event; None if it is no raw event."""
    if event.type != ge.GenericEventCode or event.extension != display.display.get_extension_major(xinput.extname):
        return None
    _, when, detail, _, _, flags = _BODY.unpack_from(event.data)
    return Raw(event.evtype, detail, when, bool(flags & xinput.KeyRepeat))
