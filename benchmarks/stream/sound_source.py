"""Plays a sweep on the desktop until killed, and says each second when it began: the pitch of what is heard tells when it was played.

The pitch rises from LOWEST for PERIOD seconds, over and over. Needs PULSE_SERVER.
"""

import ctypes
import sys
import time
from array import array
from math import pi, sin

RATE = 48000
LOWEST, RISE, PERIOD = 1000.0, 1800.0, 2.0
"""Hertz; hertz a second; seconds: a whole number of waves."""
LOUD = 12000
PIECE = RATE // 50
WAITING = RATE // 2
"""Samples that wait in the sound server, so that a busy machine leaves no gap."""
SAID = 50
"""Pieces: every so many it is said, by the median of theirs, when the first was played."""


class Spec(ctypes.Structure):
    """`pa_sample_spec`."""

    _fields_ = (("format", ctypes.c_int), ("rate", ctypes.c_uint32), ("channels", ctypes.c_uint8))


class Buffers(ctypes.Structure):
    """`pa_buffer_attr`."""

    _fields_ = tuple((name, ctypes.c_uint32) for name in ("maxlength", "tlength", "prebuf", "minreq", "fragsize"))


def sweep() -> "array[int]":
    """One period, as 16 bits."""
    times = (number / RATE for number in range(round(RATE * PERIOD)))
    return array("h", (round(LOUD * sin(2 * pi * (LOWEST * at + RISE * at * at / 2))) for at in times))


def main() -> None:
    """Play, and say by this machine's clock when the first sample was played; later, where there was a gap."""
    pulse = ctypes.CDLL("libpulse-simple.so.0")
    pulse.pa_simple_new.restype, pulse.pa_simple_get_latency.restype = ctypes.c_void_p, ctypes.c_uint64
    spec, default = Spec(3, RATE, 1), 0xFFFFFFFF
    buffers = Buffers(default, WAITING * 2, default, default, default)
    words = (None, b"sweep", 1, None, b"sweep", ctypes.byref(spec), None, ctypes.byref(buffers), None)
    stream = ctypes.c_void_p(pulse.pa_simple_new(*words))
    if not stream:
        sys.exit("there is no sound server")
    whole, began = sweep().tobytes(), list[float]()
    for number in range(1 << 40):
        at = number * PIECE * 2 % len(whole)
        pulse.pa_simple_write(stream, whole[at : at + PIECE * 2], ctypes.c_size_t(PIECE * 2), None)
        waits = pulse.pa_simple_get_latency(stream, None) / 1e6
        began.append(time.time() + waits - (number + 1) * PIECE / RATE)
        if len(began) == SAID:
            sys.stdout.write(f"{sorted(began)[SAID // 2]}\n")
            sys.stdout.flush()
            began.clear()


if __name__ == "__main__":
    main()
