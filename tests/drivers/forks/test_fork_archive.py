"""A fork as a file, and files that lie about being one."""

import hashlib
import io
import json
import tarfile
from typing import Any

import pytest

from sandbox_server.drivers.forks import fork_archive
from sandbox_server.drivers.forks.fork_archive import CHECKPOINT, MANIFEST, PROFILE, STATE, ForkError, ForkManifest, WrittenFork, is_sha256
from tests.tables import table_test

PARTS = {STATE: b"{}", CHECKPOINT: b"files" * 1000, PROFILE: b"sealed"}


def written(out: io.BytesIO, profile: str | None = "mail") -> WrittenFork:
    given = {name: io.BytesIO(content) for name, content in PARTS.items() if profile or name != PROFILE}
    made = fork_archive.write(out, "1.0", "0123abcd", 12.5, profile, given)
    out.seek(0)
    return made


def read(archive: bytes) -> tuple[ForkManifest, dict[str, bytes]]:
    files = {name: io.BytesIO() for name in PARTS}
    manifest = fork_archive.read(io.BytesIO(archive), files)
    return manifest, {name: file.read() for name, file in files.items()}


def made(manifest: Any, *entries: tuple[tarfile.TarInfo | str, bytes], tail: bytes = b"") -> bytes:
    """An archive with any manifest and any entries."""
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w") as archive:
        content = manifest if isinstance(manifest, bytes) else json.dumps(manifest).encode()
        for name, body in ((MANIFEST, content), *entries):
            member = tarfile.TarInfo(name) if isinstance(name, str) else name
            if isinstance(name, str):
                member.size = len(body)
            archive.addfile(member, io.BytesIO(body))
    return out.getvalue() + tail


def manifest(**changes: object) -> dict[str, Any]:
    parts = [{"name": name, "bytes": len(PARTS[name]), "sha256": hashlib.sha256(PARTS[name]).hexdigest()} for name in (STATE, CHECKPOINT)]
    return {"format": 1, "version": "1", "checkpoint": "0123abcd", "created": 1.0, "profile": None, "parts": parts} | changes


def part(changed: str = STATE, **changes: object) -> list[dict[str, object]]:
    told: list[dict[str, object]] = manifest()["parts"]
    return [each | (changes if each["name"] == changed else {}) for each in told]


def special(name: str, kind: bytes, target: str = "", size: int = 0) -> tarfile.TarInfo:
    member = tarfile.TarInfo(name)
    member.type, member.linkname, member.size = kind, target, size
    return member


BODIES = ((STATE, PARTS[STATE]), (CHECKPOINT, PARTS[CHECKPOINT]))


@pytest.mark.parametrize("profile", ["mail", None])
def test_what_was_written_is_read_with_its_digests(profile: str | None) -> None:
    out = io.BytesIO()
    told = written(out, profile)
    assert told.sha256 == hashlib.sha256(out.getvalue()).hexdigest()
    manifest, files = read(out.getvalue())
    assert manifest == told.manifest
    assert (manifest.profile, manifest.checkpoint, manifest.created) == (profile, "0123abcd", 12.5)
    assert files == PARTS | ({} if profile else {PROFILE: b""})


def test_other_programs_read_it() -> None:
    out = io.BytesIO()
    written(out)
    with tarfile.open(fileobj=out) as archive:
        assert archive.getnames() == [MANIFEST, STATE, CHECKPOINT, PROFILE]


LIES: dict[str, tuple[bytes, str]] = {
    "no archive": (b"x" * 2000, "no archive of a fork"),
    "nothing": (b"", "no archive of a fork"),
    "another entry first": (made(manifest())[1024:], "no archive of a fork|does not begin"),
    "a manifest that is a link": (made(manifest(), *BODIES).replace(b"0000600", b"0000600", 1)[:156] + b"2" + b"\0" * 2000, "archive"),
    "a manifest over its size": (made(b" " * 70_000), "does not begin with"),
    "a manifest that is no JSON": (made(b"{"), "cannot be read"),
    "a manifest that is nested": (made(b"[" * 60_000), "cannot be read|another format"),
    "another format": (made(manifest(format=2)), "another format"),
    "no parts": (made(manifest(parts=None)), "cannot be read"),
    "parts in another order": (made(manifest(parts=list(reversed(part())))), "in their order"),
    "a part too many": (made(manifest(parts=[*part(), part()[0]])), "in their order"),
    "a profile that is not there": (made(manifest(profile="mail"), *BODIES), "in their order"),
    "a profile's name that is a number": (made(manifest(profile=7)), "malformed text"),
    "a name that is a path": (made(manifest(parts=part(name="../../etc/passwd"))), "in their order"),
    "a size below zero": (made(manifest(parts=part(bytes=-1))), "no size or no digest"),
    "a size that is a word": (made(manifest(parts=part(bytes="9"))), "no size or no digest"),
    "a digest that is none": (made(manifest(parts=part(sha256="0" * 63))), "no size or no digest"),
    "a time that cannot be": (made(manifest(created="soon")), "cannot be read"),
    "an entry of another name": (made(manifest(), ("/etc/passwd", b"{}")), "not what its manifest says"),
    "an entry of another size": (made(manifest(), (STATE, b"{ }")), "not what its manifest says"),
    "an entry of another digest": (made(manifest(), (STATE, b"[]")), "another digest"),
    "an entry too many": (made(manifest(), *BODIES, (PROFILE, b"")), "not what its manifest says"),
    "an entry twice": (made(manifest(), BODIES[0], BODIES[0]), "not what its manifest says"),
    "an entry that is missing": (made(manifest(), BODIES[0]), f"it has no {CHECKPOINT}"),
    "a link": (made(manifest(), (special(STATE, tarfile.SYMTYPE, "/run/sandbox/session-key"), b"")), "not what its manifest says"),
    "a hard link": (made(manifest(), (special(STATE, tarfile.LNKTYPE, MANIFEST), b"")), "not what its manifest says"),
    "a device": (made(manifest(), (special(STATE, tarfile.CHRTYPE), b"")), "not what its manifest says"),
    "a pipe": (made(manifest(), (special(STATE, tarfile.FIFOTYPE), b"")), "not what its manifest says"),
    "a directory": (made(manifest(), (special(STATE, tarfile.DIRTYPE), b"")), "not what its manifest says"),
    "something after its end": (made(manifest(), *BODIES, tail=b"x" * 512), "something comes after its end"),
    "an end that is cut": (made(manifest(), *BODIES)[:-9000], "cut off"),
}


@table_test(LIES)
def test_an_archive_that_lies_is_refused_with_the_reason(content: bytes, reason: str) -> None:
    with pytest.raises(ForkError, match=reason):
        read(content)


def test_every_cut_and_every_changed_byte_is_refused() -> None:
    out = io.BytesIO()
    written(out, None)
    whole = out.getvalue()
    end = whole.rindex(b"files") + 5
    for stop in range(0, end, 97):
        with pytest.raises(ForkError):
            read(whole[:stop])
    for place in range(whole.index(b"files"), end, 97):
        with pytest.raises(ForkError):
            read(whole[:place] + bytes([whole[place] ^ 1]) + whole[place + 1 :])


def test_a_digest_is_64_small_digits() -> None:
    assert is_sha256("0123456789abcdef" * 4)
    assert not any(map(is_sha256, ("A" * 64, "0" * 65, "", None, 7)))
