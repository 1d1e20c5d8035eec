"""What mouse and keyboard do, whatever window it is for: XInput 2's raw events (inputproto 2.2, section 4.4), those of XTest too."""

import struct
from dataclasses import dataclass
from typing import Any

from Xlib.ext import ge, xinput

from sandbox_server.drivers.x11.connection import Display

MOVED, PRESSED, RELEASED = xinput.RawMotion, xinput.RawButtonPress, xinput.RawButtonRelease
KEY_PRESSED, KEY_RELEASED = xinput.RawKeyPress, xinput.RawKeyRelease
_ALL = sum(1 << kind for kind in (MOVED, PRESSED, RELEASED, KEY_PRESSED, KEY_RELEASED))
_VERSION = (2, 2)
"""From 2.1 on they come while a program has grabbed the device, too, as every program has that is pressed on."""
_BODY = struct.Struct("<HIIHHI")
"""Device, time, detail, source, how many words of valuators, flags; after the head that all generic events have."""


@dataclass(frozen=True, slots=True)
class Raw:
    """One event: its kind, the button or the key code, and when it was in the X server's milliseconds."""

    kind: int
    detail: int
    when: int
    repeated: bool
    """Whether it is a key that is held down."""


def follow(display: Display, *, follows: bool) -> None:
    """Be told of them, or no more, of what happens after this."""
    major = display.display.get_extension_major(xinput.extname)
    xinput.XIQueryVersion(display=display.display, opcode=major, major_version=_VERSION[0], minor_version=_VERSION[1])
    display.screen().root.xinput_select_events([(xinput.AllMasterDevices, _ALL if follows else 0)])
    display.sync()


def read(display: Display, event: Any) -> Raw | None:
    """The raw event that an event is; None for others."""
    if event.type != ge.GenericEventCode or event.extension != display.display.get_extension_major(xinput.extname):
        return None
    _, when, detail, _, _, flags = _BODY.unpack_from(event.data)
    return Raw(event.evtype, detail, when, bool(flags & xinput.KeyRepeat))
