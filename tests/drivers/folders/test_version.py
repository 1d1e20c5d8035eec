import json

import pytest

from sandbox_server.drivers.folders.version import DamagedError, FileRecord, Version, decode, number_of, version_key

DIGEST = "a" * 64


def told(files: object, number: int = 1) -> bytes:
    return json.dumps({"format": 1, "number": number, "lineage": "x", "files": files}).encode()


def test_a_version_is_read_as_it_was_written() -> None:
    version = Version(3, {"a/b": FileRecord(5, DIGEST, True)}, "lineage")
    assert decode(version.encode(), 3, max_files=1, max_bytes=5) == version


@pytest.mark.parametrize("path", ["", "/a", "../a", "a/../b", "a//b", "a\0", "./a", "x" * 1025, "/".join("a" * 65)])
def test_a_path_that_is_outside_or_too_long_is_refused(path: str) -> None:
    with pytest.raises(DamagedError):
        decode(told({path: [1, DIGEST, False]}), 1, max_files=10, max_bytes=10)


@pytest.mark.parametrize("record", [[-1, DIGEST, False], [1, "A" * 64, False], [1, "a", False], [1, DIGEST, 1], [1, DIGEST], "x", None])
def test_a_record_that_is_none_is_refused(record: object) -> None:
    with pytest.raises(DamagedError):
        decode(told({"a": record}), 1, max_files=10, max_bytes=10)


@pytest.mark.parametrize("content", [b"", b"[]", b"[" * 100_000, told({}, 2), told([]), told({"a": [11, DIGEST, False]})])
def test_what_is_no_version_or_too_large_is_refused(content: bytes) -> None:
    with pytest.raises(DamagedError):
        decode(content, 1, max_files=10, max_bytes=10)


def test_the_newest_version_has_the_first_name() -> None:
    names = [version_key(number) for number in (1, 2, 10, 1000)]
    assert sorted(names, reverse=True) == names
    assert [number_of(name) for name in names] == [1, 2, 10, 1000]
    assert number_of("versions/x.json") is None
