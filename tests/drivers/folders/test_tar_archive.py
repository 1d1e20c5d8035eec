import gzip
import hashlib
import io
import tarfile
from pathlib import Path

import pytest

from sandbox_server.drivers.folders import tar_archive
from sandbox_server.drivers.folders.places import FolderLimits
from sandbox_server.drivers.folders.version import DamagedError, FileRecord, Version

LIMITS = FolderLimits(max_files=5, max_bytes=1000)


def kept(contents: Path, content: bytes, *, executable: bool = False) -> FileRecord:
    digest = hashlib.sha256(content).hexdigest()
    contents.mkdir(exist_ok=True)
    (contents / digest).write_bytes(content)
    return FileRecord(len(content), digest, executable)


def packed(*entries: tuple[str, bytes], kind: bytes = tarfile.REGTYPE, form: int = tarfile.PAX_FORMAT) -> bytes:
    """An archive as another program writes one."""
    written = io.BytesIO()
    with tarfile.open(fileobj=written, mode="w:gz", format=form) as archive:
        for name, content in entries:
            entry = tarfile.TarInfo(name)
            entry.size, entry.type, entry.linkname = len(content), kind, "/etc/passwd"
            archive.addfile(entry, io.BytesIO(content))
    return written.getvalue()


def unpacked(content: bytes, tmp_path: Path, limits: FolderLimits = LIMITS) -> Version:
    (tmp_path / "out").mkdir(exist_ok=True)
    return tar_archive.unpack(io.BytesIO(content), str(tmp_path / "out"), limits, '"tag"')


def test_a_version_comes_back_as_it_was(tmp_path: Path) -> None:
    contents = tmp_path / "contents"
    long = f"{'d' * 90}/{'e' * 90}/{'f' * 90}"
    files = {"a": kept(contents, b"one"), "b/ü": kept(contents, b"", executable=True), long: kept(contents, b"two")}
    version = Version(7, files, "lineage")
    tar_archive.pack(version, str(contents), str(tmp_path / "made"))
    assert unpacked((tmp_path / "made").read_bytes(), tmp_path) == version
    assert (tmp_path / "out" / files["a"].digest).read_bytes() == b"one"
    with tarfile.open(tmp_path / "made") as archive:
        assert archive.getnames() == [".", "a", "b/ü", long]


def test_an_empty_folder_keeps_its_number(tmp_path: Path) -> None:
    tar_archive.pack(Version(3, {}, "x"), str(tmp_path), str(tmp_path / "made"))
    assert unpacked((tmp_path / "made").read_bytes(), tmp_path) == Version(3, {}, "x")


def test_an_archive_of_another_program_is_the_first_of_its_own(tmp_path: Path) -> None:
    version = unpacked(packed(("./x/y", b"content")), tmp_path)
    assert (version.number, list(version.files), version.lineage[:8]) == (1, ["x/y"], "foreign-")


@pytest.mark.parametrize(
    "content",
    [
        b"no archive",
        gzip.compress(b"x" * 1024),
        packed(("a", b"x"))[:-20],
        packed(("../a", b"x")),
        packed(("/a", b"x")),
        packed(("a/../../b", b"x")),
        packed(("a", b""), kind=tarfile.SYMTYPE),
        packed(("a", b""), kind=tarfile.LNKTYPE),
        packed(("a", b""), kind=tarfile.CHRTYPE),
        packed(("a" * 200, b"x"), form=tarfile.GNU_FORMAT),
        packed(*((str(number), b"") for number in range(6))),
        packed(("a", b"x" * 200_000)),
        gzip.compress(b"\0" * (1 << 26)),
    ],
)
def test_what_is_no_archive_of_a_folder_or_too_large_is_refused(content: bytes, tmp_path: Path) -> None:
    with pytest.raises(DamagedError):
        unpacked(content, tmp_path)


def test_a_version_whose_header_lies_is_refused(tmp_path: Path) -> None:
    for header in ("", "0 x", "x y", "5", "99999999999 x"):
        written = io.BytesIO()
        with tarfile.open(fileobj=written, mode="w:gz") as archive:
            root = tarfile.TarInfo(".")
            root.type, root.pax_headers = tarfile.DIRTYPE, {tar_archive.HEADER: header}
            archive.addfile(root)
        with pytest.raises(DamagedError):
            unpacked(written.getvalue(), tmp_path)


def test_a_content_that_is_missing_is_named(tmp_path: Path) -> None:
    with pytest.raises(DamagedError, match="'a'"):
        tar_archive.pack(Version(1, {"a": FileRecord(1, "0" * 64)}, "x"), str(tmp_path), str(tmp_path / "made"))
