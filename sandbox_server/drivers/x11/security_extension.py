"""SECURITY: cookies with which a client is not trusted: it shows windows of its own, and neither drives nor watches those of others.

The one request of the extension (X11R7 `security`, GenerateAuthorization) that Xlib's Python binding lacks.
"""

from Xlib import display as xlib
from Xlib.protocol import rq

NAME = "SECURITY"
PROTOCOL = b"MIT-MAGIC-COOKIE-1"
TIMEOUT_SECONDS = 60
"""How long a cookie holds while no client uses it."""
_TIMEOUT, _TRUST_LEVEL = 1, 2
"""Bits of the values that a request comes with."""
_UNTRUSTED = 1


class _GenerateAuthorization(rq.ReplyRequest):
    _request = rq.Struct(
        rq.Card8("opcode"),
        rq.Opcode(1),
        rq.RequestLength(),
        rq.LengthOf("protocol", 2),
        rq.LengthOf("data", 2),
        rq.Card32("mask"),
        rq.Binary("protocol"),
        rq.Binary("data"),
        rq.List("values", rq.Card32Obj),
    )
    _reply = rq.Struct(
        rq.ReplyCode(),
        rq.Pad(1),
        rq.Card16("sequence_number"),
        rq.ReplyLength(),
        rq.Card32("id"),
        rq.LengthOf("data", 2),
        rq.Pad(18),
        rq.Binary("data"),
    )


def untrusted_cookie(display: xlib.Display) -> bytes:
    """Make a cookie for one untrusted client, which has a minute to come; OSError where the X server has no such extension."""
    extension = display.query_extension(NAME)
    if extension is None:
        raise OSError(f"the X server has no {NAME}")
    made = _GenerateAuthorization(
        display=display.display,
        opcode=extension.major_opcode,
        protocol=PROTOCOL,
        data=b"",
        mask=_TIMEOUT | _TRUST_LEVEL,
        values=[TIMEOUT_SECONDS, _UNTRUSTED],
    )
    return bytes(made.data)
