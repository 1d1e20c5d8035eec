"""Encryption of an exported profile: whoever changes a byte, or has another passphrase, gets nothing."""

import io

import pytest

from sandbox_server.drivers.profiles import sealed_stream
from sandbox_server.drivers.profiles.problem import ProfileProblem
from sandbox_server.drivers.profiles.sealed_stream import SealingWriter, unsealed

HEADER = 16 + 16 + 7


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    """Little work and small chunks."""
    monkeypatch.setattr(sealed_stream, "SCRYPT_N", 2)
    monkeypatch.setattr(sealed_stream, "CHUNK", 10)


def sealed(content: bytes) -> bytes:
    file = io.BytesIO()
    writer = SealingWriter(file, "a passphrase")
    for start in range(0, len(content), 7):
        writer.write(content[start : start + 7])
    writer.close()
    return file.getvalue()


def read(content: bytes, passphrase: str = "a passphrase") -> bytes:
    return b"".join(unsealed(io.BytesIO(content), passphrase))


@pytest.mark.parametrize("size", [0, 1, 9, 10, 11, 20, 35])
def test_what_was_sealed_comes_out(size: int) -> None:
    content = bytes(range(size))
    assert read(sealed(content)) == content


def test_two_of_the_same_content_have_nothing_in_common() -> None:
    assert sealed(b"x" * 20)[16:] != sealed(b"x" * 20)[16:]
    assert b"xxxx" not in sealed(b"x" * 20)


def test_another_passphrase_is_told() -> None:
    with pytest.raises(ProfileProblem) as caught:
        read(sealed(b"content"), "another one")
    assert caught.value.reason == "passphrase"


def test_any_changed_byte_is_found() -> None:
    whole = sealed(b"0123456789abcdefghij!")
    for at in range(len(whole)):
        changed = whole[:at] + bytes([whole[at] ^ 1]) + whole[at + 1 :]
        with pytest.raises(ProfileProblem):
            read(changed)


def test_a_stream_that_is_cut_off_moved_or_doubled_is_found() -> None:
    whole, step = sealed(b"0123456789abcdefghij!"), 10 + 16
    first, second, last = whole[HEADER : HEADER + step], whole[HEADER + step : HEADER + 2 * step], whole[HEADER + 2 * step :]
    for wrong in ([], [first], [first, second], [second, first, last], [first, first, second, last], [first, second, last, last]):
        with pytest.raises(ProfileProblem):
            read(whole[:HEADER] + b"".join(wrong))


@pytest.mark.parametrize("content", [b"", b"TANDEM-PROFILE-1", b"PK\x03\x04" + bytes(100), b"TANDEM-PROFILE-2" + bytes(100)])
def test_another_file_is_none(content: bytes) -> None:
    with pytest.raises(ProfileProblem, match="does not begin as one"):
        read(content)
