"""The formats of a clipboard: parsed as they were serialized, and refused where they are malformed."""

import contextlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sandbox_server.stream.wire.clipboard_formats import MalformedMessage, packed, unpacked

PNG = b"\x89PNG\r\n\x1a\n"


@given(st.text(), st.text(), st.binary())
def test_every_form_is_read_as_it_was_written(text: str, html: str, picture: bytes) -> None:
    forms = {"text/plain": text.encode(), "text/html": html.encode(), "image/png": PNG + picture}
    assert unpacked(packed(forms)) == forms


@given(st.binary())
def test_bytes_of_any_kind_are_forms_or_refused(body: bytes) -> None:
    with contextlib.suppress(MalformedMessage):
        assert unpacked(body).keys() <= {"text/plain", "text/html", "image/png"}


def test_a_text_that_is_no_utf_8_is_refused() -> None:
    with pytest.raises(MalformedMessage, match="UTF-8"):
        unpacked(packed({"text/plain": b"\xff"}))
