"""Writes `vectors.json`, from which the decoders in Python and JavaScript are held to the same bytes: python -m tests.stream.vectors"""

import hashlib
import json
from pathlib import Path

from PIL import Image

from sandbox_server.stream import wire
from sandbox_server.stream.classify.shadow_buffer import ShadowBuffer
from sandbox_server.stream.codecs.exact import ExactPacker
from sandbox_server.stream.codecs.zstd import compress
from sandbox_server.stream.input.input_echo import EchoedInput
from sandbox_server.stream.native.rect_array import RectArray
from sandbox_server.stream.transport.audio_redundancy import AudioRedundancy
from tests.stream.screens import framed, page, with_photograph
from tests.stream.wire.test_viewer_messages import MESSAGES, wire_name

SIZE = (96, 80)
WHOLE = (0, 0, *SIZE)


def frame(number: int, shadow: ShadowBuffer, image: Image.Image) -> bytes:
    """One frame, in one part."""
    shown = framed(image)
    moves = shadow.moves(shown, WHOLE)
    keep, put = shadow.cached_tiles(shown, WHOLE) if not moves else (b"", b"")
    changes = shadow.changes(shown, WHOLE)
    rects = RectArray(changes.exact.memory, 0, len(changes.exact) + len(changes.pictures))
    operations = wire.moves(moves) if moves else b""
    operations += (wire.keep(keep) if keep else b"") + (wire.kept(put) if put else b"")
    for piece in ExactPacker().pack(shown, rects):
        operations += wire.exact(compress(piece), len(piece))
    operations += wire.over(number % 2, [(8, 8, 40, 24), (50, 10, 9, 33)][: number % 3])
    shadow.mark_sent(shown, rects)
    return wire.part(number, operations, last=True)


def scenes() -> list[tuple[bytes, Image.Image]]:
    """Messages, and what is seen after each."""
    shadow = ShadowBuffer(*SIZE)
    images = [page(SIZE), page(SIZE, scrolled=9), with_photograph(SIZE, (30, 20, 40, 33)), Image.new("RGB", SIZE, "navy")]
    images += images[1:3]
    first = (wire.hello(7, wire.MAY_ACT, *SIZE), Image.new("RGB", SIZE, "black"))
    return [first, *[(frame(number, shadow, image), image) for number, image in enumerate(images, 1)]]


ACTS = (
    EchoedInput(1, (1279, 1023), times=2),
    EchoedInput(5, (7, 8)),
    EchoedInput(16, (3, 4), path=((1, 2), (3, 4))),
    EchoedInput(17, (5, 6), keys="Ctrl+→"),
    EchoedInput(18, (5, 6)),
)
"""What somebody else did."""


def heard() -> list[tuple[bytes, list[tuple[int, bytes]]]]:
    """Messages of sound, and the packets that each brings to who has heard those before."""
    redundancy, last = AudioRedundancy(), 4_000_000_000
    first = wire.sound(last, b"\xfc\x01")
    alone = redundancy.message(wire.sound(last + 1, b"\xfc\x02"), 0.0)
    lost = redundancy.message(wire.sound(last + 2, b"\xfc\x03"), 0.0)
    redundancy.missed(85, 0.0)
    with_two = redundancy.message(wire.sound(last + 3, b"\xfc\x04\x05"), 0.0)
    after_silence = redundancy.message(wire.sound(last + 90, b""), 0.0)
    assert lost not in (alone, with_two)
    return [
        (first, [(last, b"\xfc\x01")]),
        (alone, [(last + 1, b"\xfc\x02")]),
        (with_two, [(last + 2, b"\xfc\x03"), (last + 3, b"\xfc\x04\x05")]),
        (after_silence, [(last + 90, b"")]),
    ]


def write() -> None:
    """Write the file anew."""
    shown = [{"message": message.hex(), "sha256": hashlib.sha256(image.tobytes()).hexdigest()} for message, image in scenes()]
    acted = [act.message().hex() for act in ACTS]
    packets = [{"message": message.hex(), "packets": [[number, packet.hex()] for number, packet in new]} for message, new in heard()]
    said = {wire_name(message): wire.serialize(message).hex() for message in MESSAGES}
    vectors = {"acted": acted, "said": said, "size": SIZE, "shown": shown, "heard": packets}
    Path(__file__).with_name("vectors.json").write_text(json.dumps(vectors, indent=1) + "\n", "utf-8")


if __name__ == "__main__":
    write()
