import pytest
from hypothesis import given
from hypothesis import strategies as st

from sandbox_server.core import FileError
from sandbox_server.features.file.text_encoding import Encoding, content_of, decode, split_lines


@given(st.text(st.characters(exclude_categories=["Cs"])), st.sampled_from(["utf-8", "utf-16", "utf-8-sig"]))
def test_text_comes_back_as_the_same_bytes(text: str, codec: str) -> None:
    data = text.encode(codec)
    assert decode(data, path="/f", operation="read").encode() == data


@given(st.binary())
def test_any_bytes_come_back_when_nothing_may_be_lost(data: bytes) -> None:
    try:
        text = decode(data, path="/f", operation="replace", lossless=True)
    except FileError:
        assert data.startswith((b"\xff\xfe", b"\xfe\xff"))  # half a character of UTF-16 cannot be kept
    else:
        assert text.encode(lossless=True) == data


@pytest.mark.parametrize(
    ("data", "encoding", "content", "shown"),
    [
        (b"gr\xc3\xbc\xc3\x9fe", "auto", "grüße", "utf-8"),
        (b"\xef\xbb\xbfx", "auto", "\ufeffx", "utf-8"),
        ("grüße".encode("utf-16"), "auto", "grüße", "utf-16"),
        (b"\xfe\xff\x00a", "auto", "a", "utf-16"),
        (b"a\x00b\x00", "utf-16", "ab", "utf-16"),
        (b"caf\xe9", "raw", "café", "raw"),
        (b"a\0b", "auto", "a\0b", "utf-8"),
    ],
)
def test_an_encoding_is_told_by_its_mark_or_taken_as_given(data: bytes, encoding: Encoding, content: str, shown: str) -> None:
    text = decode(data, path="/f", operation="read", encoding=encoding)
    assert (text.content, text.encoding) == (content, shown)


def test_bytes_that_are_no_text_say_where_and_what_to_do() -> None:
    with pytest.raises(FileError, match=r"not UTF-8 text.*byte e9 at offset 3") as error:
        decode(b"caf\xe9", path="/f", operation="read")
    assert error.value.error_type == "decode_error"
    assert error.value.data()["exception_type"] == "UnicodeDecodeError"
    assert "'raw'" in (error.value.hint or "")


@pytest.mark.parametrize(
    ("text", "encoding", "content"),
    [("ü", "utf-8", b"\xc3\xbc"), ("ü\x00", "raw", b"\xfc\0"), ("AAEC", "base64", b"\0\1\2"), ("AA\nEC\n", "base64", b"\0\1\2")],
)
def test_content_is_written_in_the_encoding_it_came_in(text: str, encoding: str, content: bytes) -> None:
    assert content_of(text, encoding, path="/f") == content  # type: ignore[arg-type]


@pytest.mark.parametrize(("text", "encoding"), [("日", "raw"), ("A", "base64"), ("*", "base64"), ("\ud800", "utf-8")])
def test_content_that_is_not_what_it_says_is_refused(text: str, encoding: str) -> None:
    with pytest.raises(FileError, match=f"the content is not {encoding}") as error:
        content_of(text, encoding, path="/f")  # type: ignore[arg-type]
    assert error.value.error_type == "decode_error"


@given(st.text())
def test_lines_joined_are_the_text(text: str) -> None:
    lines = split_lines(text)
    assert "".join(lines) == text
    assert all(line.endswith("\n") for line in lines[:-1])
    assert all("\n" not in line[:-1] for line in lines)
