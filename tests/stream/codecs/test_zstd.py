"""Zstandard by the system's library, both ways."""

import pytest

from sandbox_server.stream.codecs.zstd import BadCompression, compress, decompress


@pytest.mark.parametrize("plain", [b"", b"a", bytes(100_000), bytes(range(256)) * 40])
def test_what_is_compressed_comes_back(plain: bytes) -> None:
    assert decompress(compress(plain), len(plain)) == plain


def test_repetition_gets_small() -> None:
    assert len(compress(b"tandem " * 1000)) < 100


@pytest.mark.parametrize("packed", [b"", b"rubbish", compress(b"whole" * 50)[:-3], compress(b"longer than told")])
def test_what_is_no_whole_frame_of_that_size_is_refused(packed: bytes) -> None:
    with pytest.raises(BadCompression):
        decompress(packed, 9)
