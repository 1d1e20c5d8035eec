"""`scripts/oci-archive` gives equal bytes for equal contents, and keeps what an image has."""

import hashlib
import json
import os
import subprocess
import tarfile
from pathlib import Path
from typing import Any

from tests.scripts.saved_images import FILES, layer, save

SCRIPT = Path(__file__).parent.parent.parent / "scripts" / "oci-archive"
EPOCH = 1_700_000_000
CAPABILITY = "SCHILY.xattr.security.capability"


def archive(out: Path, *saved: Path) -> str:
    """Make an archive; gives the digest that is printed."""
    environ = os.environ | {"SOURCE_DATE_EPOCH": str(EPOCH), "ANNOTATIONS": '{"org.opencontainers.image.version": "1.2.3"}'}
    command: list[str | Path] = [SCRIPT, "tandem:1.2.3", out, *saved]
    return subprocess.run(command, env=environ, capture_output=True, text=True, timeout=60, check=True).stdout.strip()


def blob(path: Path, digest: str) -> bytes:
    """A blob of an archive, whose name is its digest."""
    with tarfile.open(path) as tar:
        file = tar.extractfile(f"blobs/{digest.replace(':', '/')}")
        assert file
        data = file.read()
    assert digest == f"sha256:{hashlib.sha256(data).hexdigest()}"
    return data


def members(path: Path, manifest: dict[str, Any], place: int) -> dict[str, tarfile.TarInfo]:
    """A layer's files."""
    data = blob(path, manifest["layers"][place]["digest"])
    (path.parent / "layer").write_bytes(data)
    with tarfile.open(path.parent / "layer") as tar:
        return {member.name: member for member in tar}


def test_the_same_files_of_another_day_are_the_same_bytes(tmp_path: Path) -> None:
    first = save(tmp_path / "a", [layer(FILES, EPOCH + 5.5)], created="2026-01-01T00:00:00Z")
    second = save(tmp_path / "b", [layer(FILES, EPOCH + 86_400)], created="2026-02-02T00:00:00Z")
    assert archive(tmp_path / "a.oci.tar", first) == archive(tmp_path / "b.oci.tar", second)
    assert (tmp_path / "a.oci.tar").read_bytes() == (tmp_path / "b.oci.tar").read_bytes()


def test_other_contents_or_modes_are_another_digest(tmp_path: Path) -> None:
    changed = FILES | {"etc/os-release": b"x"}
    layers = (layer(FILES, EPOCH), layer(changed, EPOCH), layer(FILES, EPOCH, 0o755), layer(FILES, EPOCH - 1))
    of = {archive(tmp_path / "o", save(tmp_path / "s", [content])) for content in layers}
    assert len(of) == 4


def test_older_files_keep_their_time_and_all_keep_what_they_have(tmp_path: Path) -> None:
    out = tmp_path / "o.tar"
    digest = archive(out, save(tmp_path / "s", [layer({"old": b"1"}, 1000), layer({"new": b"2"}, EPOCH + 1)]))
    index = json.loads(blob(out, digest))
    assert index["annotations"] == {"org.opencontainers.image.version": "1.2.3"}
    (entry,) = index["manifests"]
    assert entry["platform"] == {"architecture": "amd64", "os": "linux"}
    manifest = json.loads(blob(out, entry["digest"]))
    old, new = members(out, manifest, 0), members(out, manifest, 1)
    assert (old["old"].mtime, new["new"].mtime) == (1000, EPOCH)
    assert old["old"].pax_headers[CAPABILITY] == "caps"
    assert (old["bin"].type, old["bin"].linkname) == (tarfile.SYMTYPE, "usr/bin")
    config = json.loads(blob(out, manifest["config"]["digest"]))
    assert config["config"] == {"Entrypoint": ["/bin/hello"], "Labels": {"a": "b"}}
    assert {config["created"], *(step["created"] for step in config["history"])} == {"2023-11-14T22:13:20Z"}
    assert "container" not in config


def test_two_platforms_are_one_index_and_one_can_be_loaded_by_any_engine(tmp_path: Path) -> None:
    amd, arm = save(tmp_path / "amd", [layer(FILES, 1)]), save(tmp_path / "arm", [layer(FILES, 1)], architecture="arm64")
    digest = archive(tmp_path / "both", amd, arm)
    assert [entry["platform"]["architecture"] for entry in json.loads(blob(tmp_path / "both", digest))["manifests"]] == ["amd64", "arm64"]
    assert digest == archive(tmp_path / "again", arm, amd)
    archive(tmp_path / "one", amd)
    with tarfile.open(tmp_path / "both") as both, tarfile.open(tmp_path / "one") as one:
        assert "manifest.json" not in both.getnames()
        loaded = one.extractfile("manifest.json")
        assert loaded
        (image,) = json.load(loaded)
        assert image["RepoTags"] == ["tandem:1.2.3"]
        assert {image["Config"], *image["Layers"]} <= set(one.getnames())
