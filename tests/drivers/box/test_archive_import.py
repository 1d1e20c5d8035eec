"""Archives made to do harm, taken in by a daemon that runs."""

import io
import json
import os
import stat
import tarfile
from collections.abc import Callable
from pathlib import Path

import pytest

from sandbox_server.drivers.box.archive import RECORD
from sandbox_server.drivers.box.layer_store import MAX_DEPTH
from tests.boxes import BoxDaemons

ONE = {"id": "00000001", "parent": None, "label": "x", "who": "x", "why": "asked", "created": 1.0}
LAYER = "layers/00000001"

type Change = Callable[[tarfile.TarInfo], None]


def made(path: Path, *entries: tuple[str, bytes, dict[str, object]], records: object = None) -> Path:
    content = json.dumps({"format": 1, "checkpoints": [ONE] if records is None else records}).encode()
    with tarfile.open(path, "w:gz", format=tarfile.PAX_FORMAT) as archive:
        info = tarfile.TarInfo(RECORD)
        info.size = len(content)
        archive.addfile(info, io.BytesIO(content))
        for name, kind, more in entries:
            info = tarfile.TarInfo(name)
            info.type = kind
            for key, value in more.items():
                setattr(info, key, value)
            archive.addfile(info, io.BytesIO(b"x" * info.size) if info.size else None)
    return path


def taken_in(box: BoxDaemons, path: Path) -> dict[str, object]:
    with path.open("rb") as file:
        return box.answer("import", file.fileno(), who="me", label=None)


def xattr(name: str, value: str = "y") -> dict[str, object]:
    return {"pax_headers": {f"SCHILY.xattr.{name}": value}}


BAD: dict[str, list[tuple[str, bytes, dict[str, object]]]] = {
    "a link where a part is mounted": [(f"{LAYER}/etc", tarfile.SYMTYPE, {"linkname": "/run/sandbox"})],
    "a file where a part is mounted": [(f"{LAYER}/usr", tarfile.REGTYPE, {})],
    "a pipe where a part is mounted": [(f"{LAYER}/usr", tarfile.FIFOTYPE, {})],
    "a hard link where a part is mounted": [
        (f"{LAYER}/f", tarfile.REGTYPE, {}),
        (f"{LAYER}/usr", tarfile.LNKTYPE, {"linkname": f"{LAYER}/f"}),
    ],
    "a link in the place of a layer": [(LAYER, tarfile.SYMTYPE, {"linkname": "/"})],
    "a trusted attribute": [(f"{LAYER}/d", tarfile.DIRTYPE, xattr("trusted.overlay.opaque"))],
    "an attribute of another security module": [(f"{LAYER}/f", tarfile.REGTYPE, xattr("security.x"))],
    "capabilities that are too long": [(f"{LAYER}/f", tarfile.REGTYPE, xattr("security.capability", "x" * 100))],
    "a user that nobody has": [(f"{LAYER}/f", tarfile.REGTYPE, {"uid": 1 << 32})],
    "a group that nobody has": [(f"{LAYER}/f", tarfile.REGTYPE, {"gid": 1 << 60})],
    "a time that no file has": [(f"{LAYER}/f", tarfile.REGTYPE, {"mtime": 1 << 62})],
    "a name that is too long": [(f"{LAYER}/{'x' * 300}", tarfile.REGTYPE, {})],
    "a path that is too long": [(f"{LAYER}/{'x/' * 3000}x", tarfile.REGTYPE, {})],
    "a hard link into another layer": [(f"{LAYER}/f", tarfile.LNKTYPE, {"linkname": "layers/00000002/f"})],
    "a hard link to a directory": [(f"{LAYER}/d", tarfile.DIRTYPE, {}), (f"{LAYER}/f", tarfile.LNKTYPE, {"linkname": f"{LAYER}/d"})],
    "a hard link through a link": [
        (f"{LAYER}/l", tarfile.SYMTYPE, {"linkname": "/about"}),
        (f"{LAYER}/f", tarfile.LNKTYPE, {"linkname": f"{LAYER}/l/x"}),
    ],
    "a sparse file": [(f"{LAYER}/f", tarfile.GNUTYPE_SPARSE, {})],
    "a device": [(f"{LAYER}/d", tarfile.CHRTYPE, {"devmajor": 1, "devminor": 5})],
}


@pytest.mark.parametrize("entries", BAD.values(), ids=BAD)
def test_what_no_box_has_made_is_refused_and_leaves_nothing(
    shared_box: BoxDaemons, tmp_path: Path, entries: list[tuple[str, bytes, dict[str, object]]]
) -> None:
    before = shared_box.ask("list")
    assert taken_in(shared_box, made(tmp_path / "bad", *entries))["refused"] == "invalid_argument"
    assert shared_box.ask("list") == before
    assert not [name for name in os.listdir(shared_box.store) if name.startswith("draft-")]


CHAIN = [ONE | {"id": f"{number:08x}"} for number in range(MAX_DEPTH + 1)]
RECORDS: dict[str, object] = {
    "a chain that is too long": CHAIN,
    "600 checkpoints": [ONE | {"id": f"{number:08x}"} for number in range(600)],
    "the same one twice": [ONE, ONE],
    "a label that is no text": [ONE | {"label": 7}],
    "half a character": [ONE | {"label": "\ud800"}],
    "an id that is a path": [ONE | {"id": "../../up"}],
    "something else": {"a": 1},
}


@pytest.mark.parametrize("records", RECORDS.values(), ids=RECORDS)
def test_records_that_no_box_has_written_are_refused(shared_box: BoxDaemons, tmp_path: Path, records: object) -> None:
    before = shared_box.ask("list")
    assert taken_in(shared_box, made(tmp_path / "bad", records=records))["refused"] == "invalid_argument"
    assert shared_box.ask("list") == before


def test_a_chain_as_long_as_a_box_can_stand_on_is_taken_in_and_run(box: BoxDaemons, tmp_path: Path) -> None:
    done = taken_in(box, made(tmp_path / "long", records=CHAIN[:MAX_DEPTH]))
    last = done["ok"]["checkpoint"]["id"]  # type: ignore[index]
    assert box.ask("restore", checkpoint=last, who="me", keep=False)["head"] == last
    assert box.out("echo here") == "here"


def test_overlayfs_s_own_marks_stay_behind_and_what_the_agent_set_comes_in(box: BoxDaemons, tmp_path: Path) -> None:
    archive = made(
        tmp_path / "good",
        (LAYER, tarfile.DIRTYPE, {"mode": 0o755}),
        (f"{LAYER}/made", tarfile.DIRTYPE, {"mode": 0o755, **xattr("user.overlay.redirect", "/etc")}),
        (f"{LAYER}/made/file", tarfile.REGTYPE, {"size": 3, "mode": 0o4711, "uid": 1000, **xattr("user.mine", "x")}),
        (f"{LAYER}/srv", tarfile.CHRTYPE, {}),
    )
    checkpoint = taken_in(box, archive)["ok"]["checkpoint"]["id"]  # type: ignore[index]
    layer = box.store / "l" / checkpoint
    assert os.listxattr(layer / "made") == []
    assert os.getxattr(layer / "made/file", "user.mine") == b"x"
    status = (layer / "made/file").stat()
    assert (stat.S_IMODE(status.st_mode), status.st_uid) == (0o4711, 1000)
    box.ask("restore", checkpoint=checkpoint, who="me")
    assert box.out("cat /made/file; ls -d /srv 2>&1 || true").startswith("xxx")


def test_a_sparse_file_that_holds_more_than_the_quota_does_not_go_out(box: BoxDaemons, tmp_path: Path) -> None:
    box.out("truncate -s 1T /home/gem/sparse")
    checkpoint = box.ask("checkpoint", label="", who="me")["checkpoint"]["id"]
    with (tmp_path / "out").open("wb") as file:
        assert box.answer("export", file.fileno(), checkpoint=checkpoint)["refused"] == "resource_exhausted"


DEEP = "python3 -c \"import os\nfor n in range(5000): os.mkdir('d'); os.chdir('d')\""


def test_a_tree_deeper_than_any_path_is_told_of_counted_and_goes_with_its_checkpoint(box: BoxDaemons, tmp_path: Path) -> None:
    box.out(f"cd /home/gem && {DEEP}")
    assert box.ask("diff", limit=10)["truncated"]
    deep = box.ask("checkpoint", label="", who="me")["checkpoint"]["id"]
    assert box.ask("usage")["bytes"] > 0
    with (tmp_path / "out").open("wb") as file:
        assert box.answer("export", file.fileno(), checkpoint=deep)["refused"] == "conflict"
    box.ask("checkpoint", label="", who="me")
    assert box.answer("squash", checkpoint=box.ask("list")["head"])["refused"] == "conflict"
    box.ask("restore", checkpoint=None, who="me", keep=False)
    assert box.out("ls /home/gem/d 2>/dev/null || echo gone") == "gone"
