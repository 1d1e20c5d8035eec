"""Archives that lie about their paths, sizes and digests."""

import hashlib
import io
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from sandbox_server.drivers.profiles import archive
from sandbox_server.drivers.profiles.archive import ArchiveReader, pack
from sandbox_server.drivers.profiles.problem import ProfileProblem
from sandbox_server.drivers.profiles.tree import MAX_BYTES, NewTree
from tests.drivers.profiles.made import VERSION, content, make_profile, opened, paths

BEGIN = {"format": 1, "chromium": VERSION}


def header(fields: object) -> bytes:
    body = json.dumps(fields).encode()
    return len(body).to_bytes(4, "big") + body


def entry(path: object, body: bytes = b"x", **lies: Any) -> bytes:
    return header({"path": path, "size": len(body), "sha256": hashlib.sha256(body).hexdigest(), **lies}) + body


def stream(*parts: bytes, end: bytes = bytes(4)) -> bytes:
    return header(BEGIN) + b"".join(parts) + end


def pieces(whole: bytes, step: int = 1000) -> Iterator[bytes]:
    return (whole[start : start + step] for start in range(0, len(whole), step))


def unpacked(whole: bytes, target: Path) -> int:
    return ArchiveReader(pieces(whole)).unpack(NewTree(str(target)))


def test_a_profile_comes_out_as_it_went_in(tmp_path: Path) -> None:
    profile, sink = make_profile(tmp_path / "p"), io.BytesIO()
    with opened(profile) as descriptor:
        assert pack(descriptor, sink, VERSION) == 5
    assert unpacked(sink.getvalue(), tmp_path / "q") == 5
    assert content(tmp_path / "q") == {path: found for path, found in content(profile).items() if path in paths(profile)}
    assert ArchiveReader(pieces(sink.getvalue(), 3)).version == VERSION


@pytest.mark.parametrize(
    "part",
    [
        entry("../escaped"),
        entry("/etc/passwd"),
        entry("Default/../../escaped"),
        entry("SingletonLock"),
        entry(None),
        entry(["a"]),
        entry("a", size=-1),
        entry("a", size=True),
        entry("a", size="1"),
        entry("a", size=10**30),
        entry("a", size=2),
        entry("a", size=0),
        entry("a", sha256="0" * 64),
        entry("a", sha256=None),
        entry("a") + entry("a"),
        entry("a") + entry("a/b"),
        entry("a/b") + entry("a"),
        header([]),
        (1 << 20).to_bytes(4, "big"),
        (5).to_bytes(4, "big") + b"{{{{{",
        (5000).to_bytes(4, "big") + b"[" * 5000,
    ],
)
def test_a_lie_is_refused_and_nothing_is_written_elsewhere(part: bytes, tmp_path: Path) -> None:
    (tmp_path / "in").mkdir()
    with pytest.raises(ProfileProblem) as caught:
        unpacked(stream(part), tmp_path / "in/q")
    assert caught.value.kind in ("invalid_argument", "too_large")
    assert [path.name for path in tmp_path.iterdir()] == ["in"]


@pytest.mark.parametrize("whole", [b"", b"\0\0", stream(entry("a"), end=b""), stream(entry("a"))[:-10], stream(entry("a"), end=bytes(5))])
def test_one_that_ends_too_early_or_goes_on_is_refused(whole: bytes, tmp_path: Path) -> None:
    with pytest.raises(ProfileProblem):
        unpacked(whole, tmp_path / "q")


@pytest.mark.parametrize("begin", [{"format": 2}, {"format": 1, "chromium": 9}, {"format": 1, "chromium": "1.2.3.x"}, {}])
def test_one_of_another_version_is_refused(begin: dict[str, Any]) -> None:
    with pytest.raises(ProfileProblem):
        ArchiveReader(iter([header(begin) + bytes(4)]))


def test_sizes_and_numbers_are_refused_before_anything_is_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(ProfileProblem) as caught:
        unpacked(stream(entry("a", size=MAX_BYTES + 1)), tmp_path / "q")
    assert caught.value.reason == "limit"
    monkeypatch.setattr(archive, "MAX_FILES", 1)
    with pytest.raises(ProfileProblem) as caught:
        unpacked(stream(entry("a"), entry("b")), tmp_path / "r")
    assert caught.value.reason == "limit"
