"""MIT-SHM: images of the screen through memory shared with the X server, instead of its socket.

The requests of the extension (X11R7 `shm.xml`) that Xlib's Python binding lacks, and System V shared memory
(shmget(2)).
"""

import ctypes
import os
import socket

from Xlib.protocol import rq

from sandbox_server.drivers.x11.connection import Display

NAME = "MIT-SHM"
Z_PIXMAP = 2
ALL_PLANES = 0xFFFFFFFF

_IPC_PRIVATE, _IPC_CREAT, _IPC_RMID, _IPC_SET, _IPC_STAT = 0, 0o1000, 0, 1, 2
_libc = ctypes.CDLL(None, use_errno=True)
_libc.shmat.restype = ctypes.c_void_p
_libc.shmat.argtypes = (ctypes.c_int, ctypes.c_void_p, ctypes.c_int)
_libc.shmdt.argtypes = (ctypes.c_void_p,)
_libc.shmctl.argtypes = (ctypes.c_int, ctypes.c_int, ctypes.c_void_p)
_libc.shmget.argtypes = (ctypes.c_int, ctypes.c_size_t, ctypes.c_int)


class _Attach(rq.Request):
    _request = rq.Struct(
        rq.Card8("opcode"), rq.Opcode(1), rq.RequestLength(), rq.Card32("segment"), rq.Card32("shmid"), rq.Bool("read_only"), rq.Pad(3)
    )


class _Detach(rq.Request):
    _request = rq.Struct(rq.Card8("opcode"), rq.Opcode(2), rq.RequestLength(), rq.Card32("segment"))


class _GetImage(rq.ReplyRequest):
    _request = rq.Struct(
        rq.Card8("opcode"),
        rq.Opcode(4),
        rq.RequestLength(),
        rq.Drawable("drawable"),
        rq.Int16("x"),
        rq.Int16("y"),
        rq.Card16("width"),
        rq.Card16("height"),
        rq.Card32("planes"),
        rq.Card8("format"),
        rq.Pad(3),
        rq.Card32("segment"),
        rq.Card32("offset"),
    )
    _reply = rq.Struct(
        rq.ReplyCode(), rq.Card8("depth"), rq.Card16("sequence_number"), rq.ReplyLength(), rq.Card32("visual"), rq.Card32("size")
    )


class _Permissions(ctypes.Structure):
    """The start of `struct shmid64_ds`, which sets the owner of a segment."""

    _fields_ = (("key", ctypes.c_int), ("uid", ctypes.c_uint), ("gid", ctypes.c_uint), ("more", ctypes.c_char * 244))


class Segment:
    """Shared memory of `size` bytes that the X server may write.

    No other process can attach it, and it is freed with both sides.
    """

    def __init__(self, display: Display, size: int) -> None:
        self.size = size
        self._display = display
        self._address: int | None = None
        extension = display.query_extension(NAME)
        if extension is None:
            raise OSError(f"the X server has no {NAME}")
        self._opcode = extension.major_opcode
        number = _checked(_libc.shmget(_IPC_PRIVATE, size, _IPC_CREAT | 0o600))
        try:
            self._address = _libc.shmat(number, None, 0)
            if self._address == ctypes.c_void_p(-1).value:
                self._address = None
                _checked(-1)
            _give(number, _server_uid(display))
            self._id = display.display.allocate_resource_id()
            _Attach(display=display.display, opcode=self._opcode, segment=self._id, shmid=number, read_only=False)
            display.sync()
        finally:
            _libc.shmctl(number, _IPC_RMID, None)

    @property
    def address(self) -> int:
        """The address of the memory in this process; 0 once it was freed."""
        return self._address or 0

    def grab(self, x: int, y: int, width: int, height: int) -> bytes:
        """Copy a region of the screen: 4 bytes per pixel (blue, green, red, unused), rows from the top without padding."""
        self.take(x, y, width, height)
        return ctypes.string_at(self.address, width * height * 4)

    def take(self, x: int, y: int, width: int, height: int, offset: int = 0) -> None:
        """Let the X server write a region, in the format of `grab`, into the memory at `offset`."""
        root = self._display.screen().root
        _GetImage(
            display=self._display.display,
            opcode=self._opcode,
            drawable=root,
            x=x,
            y=y,
            width=width,
            height=height,
            planes=ALL_PLANES,
            format=Z_PIXMAP,
            segment=self._id,
            offset=offset,
        )

    def close(self) -> None:
        """Free the memory on both sides."""
        if self._address is not None:
            _libc.shmdt(self._address)
            self._address = None
            _Detach(display=self._display.display, opcode=self._opcode, segment=self._id)

    def __del__(self) -> None:
        if self._address is not None:  # the connection ended, and the X server's side with it
            _libc.shmdt(self._address)


def _server_uid(display: Display) -> int:
    """Return the user id of the X server: its socket's owner. SO_PEERCRED (unix(7)) says one's own in gVisor."""
    connected: socket.socket = display.display.socket
    return os.stat(connected.getpeername()).st_uid


def _give(number: int, uid: int) -> None:
    permissions = _Permissions()
    _checked(_libc.shmctl(number, _IPC_STAT, ctypes.byref(permissions)))
    if permissions.uid != uid:
        permissions.uid = uid
        _checked(_libc.shmctl(number, _IPC_SET, ctypes.byref(permissions)))


def _checked(result: int) -> int:
    if result < 0:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number))
    return result
