"""Clipboard sync: a viewer is sent what it does not have, as far as it fits."""

from sandbox_server.stream import wire
from sandbox_server.stream.input.clipboard_sync import ClipboardSync

RICH = {"text/plain": b"bold", "text/html": b"<b>bold</b>"}


def test_what_is_copied_on_the_desktop_is_told_once() -> None:
    clipboard = ClipboardSync()
    assert clipboard.message_for({"text/plain": b"plain"}) == wire.clipboard("plain")
    assert clipboard.message_for({"text/plain": b"plain"}) == b""
    assert clipboard.message_for(RICH) == wire.clip(RICH)
    assert clipboard.message_for({}) == b""


def test_what_the_viewer_copied_itself_does_not_come_back() -> None:
    clipboard = ClipboardSync()
    clipboard.learn(wire.Clip(RICH))
    assert clipboard.message_for(RICH) == b""
    clipboard.learn(wire.Copied("plain"))
    clipboard.learn(wire.Key(65, down=True))
    assert clipboard.message_for({"text/plain": b"plain"}) == b""


def test_what_is_too_large_is_left_out_and_the_text_is_not() -> None:
    large = {"text/plain": b"text", "text/html": b"x" * wire.MAX_CLIP, "image/png": b"x" * (wire.MAX_CLIP - 4)}
    assert ClipboardSync().message_for(large) == wire.clip({"text/plain": b"text", "image/png": large["image/png"]})
    assert ClipboardSync().message_for({"text/plain": b"x" * (wire.MAX_TEXT + 1)}) == b""
