import io
import json
import os
import tarfile
from collections.abc import Callable
from pathlib import Path

import pytest

from sandbox_server.drivers.box.archive import RECORD
from tests.boxes import BoxDaemons

RECORDS = {"id": "00000001", "parent": None, "label": "x", "who": "x", "why": "asked", "created": 1.0}


def exported(box: BoxDaemons, checkpoint: str, path: Path) -> Path:
    with path.open("wb") as file:
        box.ask("export", file.fileno(), checkpoint=checkpoint)
    return path


def imported(box: BoxDaemons, path: Path) -> dict[str, object]:
    with path.open("rb") as file:
        return box.answer("import", file.fileno(), who="me", label=None)


def test_a_checkpoint_goes_out_and_comes_in_whole(box: BoxDaemons, tmp_path: Path) -> None:
    box.out("cd /home/gem; echo x > file; chmod 6750 file; ln file hard; ln -s file soft; mkfifo pipe")
    box.ask("checkpoint", label="one", who="me")
    box.out("rm /etc/debian_version; rm -r /usr/share/common-licenses; mkdir /usr/share/common-licenses; chown gem /home/gem/file")
    last = box.ask("checkpoint", label="two", who="me")["checkpoint"]["id"]
    shown = "cd /home/gem; stat -c '%n %a %U %h %s' file soft pipe; ls /etc/debian_version /usr/share/common-licenses 2>&1 || true"
    before = box.out(shown)
    archive = exported(box, last, tmp_path / "archive")
    box.ask("restore", checkpoint=None, who="me")
    answer = imported(box, archive)
    box.ask("restore", checkpoint=answer["ok"]["checkpoint"]["id"], who="me")  # type: ignore[index]
    assert box.out(shown) == before
    assert [one["label"] for one in box.ask("list")["checkpoints"]].count("two") == 2


type Fill = Callable[[tarfile.TarFile], None]


def member(name: str, kind: bytes = tarfile.REGTYPE, link: str = "", device: tuple[int, int] = (0, 0)) -> Fill:
    def fill(archive: tarfile.TarFile) -> None:
        info = tarfile.TarInfo(name)
        info.type, info.linkname, (info.devmajor, info.devminor) = kind, link, device
        archive.addfile(info)

    return fill


ATTACKS: dict[str, list[Fill]] = {
    "a path out of the layer": [member("layers/00000001/../../escaped")],
    "an absolute path": [member("/escaped")],
    "a path outside the layers": [member("about/escaped.json")],
    "a layer that the record does not name": [member("layers/00000002/escaped")],
    "a path through a link": [member("layers/00000001/link", tarfile.SYMTYPE, "/"), member("layers/00000001/link/escaped")],
    "a hard link to outside": [member("layers/00000001/hard", tarfile.LNKTYPE, "/state.json")],
    "a hard link upwards": [member("layers/00000001/hard", tarfile.LNKTYPE, "layers/00000001/../../state.json")],
    "a disk": [member("layers/00000001/disk", tarfile.BLKTYPE, device=(8, 0))],
    "a device for memory": [member("layers/00000001/mem", tarfile.CHRTYPE, device=(1, 1))],
    "the same file twice": [member("layers/00000001/file"), member("layers/00000001/file")],
}


def crafted(path: Path, fills: list[Fill], record: object = None) -> Path:
    content = json.dumps(record or {"format": 1, "checkpoints": [RECORDS]}).encode()
    with tarfile.open(path, "w:gz") as archive:
        info = tarfile.TarInfo(RECORD)
        info.size = len(content)
        archive.addfile(info, io.BytesIO(content))
        for fill in fills:
            fill(archive)
    return path


@pytest.mark.parametrize("fills", ATTACKS.values(), ids=ATTACKS)
def test_an_archive_that_reaches_out_is_refused(shared_box: BoxDaemons, tmp_path: Path, fills: list[Fill]) -> None:
    before = shared_box.ask("list")
    assert imported(shared_box, crafted(tmp_path / "bad", fills))["refused"] == "invalid_argument"
    assert shared_box.ask("list") == before
    assert "escaped" not in {name for _, folders, files in os.walk(shared_box.store) for name in (*folders, *files)}


@pytest.mark.parametrize("content", [b"", b"not an archive", b"\x1f\x8b" + b"\0" * 100])
def test_what_is_no_archive_is_refused(shared_box: BoxDaemons, tmp_path: Path, content: bytes) -> None:
    (tmp_path / "bad").write_bytes(content)
    assert imported(shared_box, tmp_path / "bad")["refused"] == "invalid_argument"


@pytest.mark.parametrize(
    "record",
    [{"format": 2, "checkpoints": [RECORDS]}, {"format": 1, "checkpoints": []}, {"format": 1}, [1], {"format": 1, "checkpoints": [{}]}],
)
def test_a_record_that_says_something_else_is_refused(shared_box: BoxDaemons, tmp_path: Path, record: object) -> None:
    assert imported(shared_box, crafted(tmp_path / "bad", [], record))["refused"] == "invalid_argument"


def test_a_truncated_archive_leaves_nothing(box: BoxDaemons, tmp_path: Path) -> None:
    box.out("head -c 300000 /dev/urandom > /home/gem/noise")
    made = box.ask("checkpoint", label="", who="me")["checkpoint"]["id"]
    whole = exported(box, made, tmp_path / "whole").read_bytes()
    (tmp_path / "part").write_bytes(whole[: len(whole) // 2])
    assert imported(box, tmp_path / "part")["refused"] == "invalid_argument"
    assert len(box.ask("list")["checkpoints"]) == 1
