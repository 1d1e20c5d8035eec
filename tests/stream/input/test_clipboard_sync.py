"""What a viewer is told of the clipboard: what it does not know, as far as it fits."""

from sandbox_server.stream import wire
from sandbox_server.stream.input.clipboard_sync import ClipboardSync

RICH = {"text/plain": b"bold", "text/html": b"<b>bold</b>"}


def test_what_is_copied_on_the_desktop_is_told_once() -> None:
    clippings = ClipboardSync()
    assert clippings.news({"text/plain": b"plain"}) == wire.clipboard("plain")
    assert clippings.news({"text/plain": b"plain"}) == b""
    assert clippings.news(RICH) == wire.clip(RICH)
    assert clippings.news({}) == b""


def test_what_the_viewer_copied_itself_does_not_come_back() -> None:
    clippings = ClipboardSync()
    clippings.learn(wire.Clip(RICH))
    assert clippings.news(RICH) == b""
    clippings.learn(wire.Copied("plain"))
    clippings.learn(wire.Key(65, down=True))
    assert clippings.news({"text/plain": b"plain"}) == b""


def test_what_is_too_large_is_left_out_and_the_text_is_not() -> None:
    large = {"text/plain": b"text", "text/html": b"x" * wire.MAX_CLIP, "image/png": b"x" * (wire.MAX_CLIP - 4)}
    assert ClipboardSync().news(large) == wire.clip({"text/plain": b"text", "image/png": large["image/png"]})
    assert ClipboardSync().news({"text/plain": b"x" * (wire.MAX_TEXT + 1)}) == b""
