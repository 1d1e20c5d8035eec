"""The SECURITY extension: cookies for untrusted clients, which can neither drive nor watch the windows of others.

The request GenerateAuthorization (X11R7 `security`), which Xlib's Python binding lacks.
"""

from Xlib import display as xlib
from Xlib.protocol import rq

NAME = "SECURITY"
PROTOCOL = b"MIT-MAGIC-COOKIE-1"
TIMEOUT_SECONDS = 60
"""Seconds that an unused cookie is valid."""
_TIMEOUT, _TRUST_LEVEL = 1, 2
"""Bits for the values of a request."""
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
    """Make a cookie for one untrusted client, valid for a minute.

    Raises OSError if the X server lacks the extension.
    """
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
