"""A viewer's canvas, brought up to date as the server's shadow buffer says."""

from PIL import Image

from sandbox_server.stream.capture.frame import CapturedFrame
from sandbox_server.stream.classify.shadow_buffer import ShadowBuffer
from sandbox_server.stream.codecs.canvas import Canvas
from sandbox_server.stream.codecs.exact import ExactPacker
from sandbox_server.stream.geometry import Area


def sent(shadow: ShadowBuffer, canvas: Canvas, frame: CapturedFrame, area: Area | None = None) -> int:
    """Bring the canvas up to date as a viewer is; how many bytes that takes before they are compressed."""
    area = area or (0, 0, frame.width, frame.height)
    moves = shadow.moves(frame, area)
    assert canvas.move(moves)
    store, draw = shadow.cached_tiles(frame, area) if not moves else (b"", b"")
    assert canvas.store_tiles(store)
    assert canvas.draw_tiles(draw)
    changes = shadow.changes(frame, area)
    pieces = list(ExactPacker().pack(frame, changes.all))
    shadow.mark_sent(frame, changes.all)
    assert all(canvas.unpack(piece) for piece in pieces)
    return len(store) + len(draw) + sum(map(len, pieces))


def shown(canvas: Canvas) -> Image.Image:
    """What the canvas shows."""
    return Image.frombytes("RGB", (canvas.width, canvas.height), bytes(canvas.pixels), "raw", "BGRX", 0, 1)
