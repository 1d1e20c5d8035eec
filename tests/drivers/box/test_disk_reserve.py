import subprocess
import sys
from pathlib import Path

import pytest

from sandbox_server.drivers.box.disk_reserve import BYTES, FILES, Reserve
from tests.boxes import ROOT

# Run in a namespace of its own, where a small filesystem can be mounted.
ON_A_SMALL_DISK = """
import os, sys
from sandbox_server.drivers.box.disk_reserve import BYTES, Reserve
disk, work = sys.argv[1:]
reserve = Reserve(disk + "/reserve")

def write(name, size):
    with open(f"{disk}/{name}", "wb") as file:
        file.write(bytes(size))

def fill(names, size):
    try:
        for name in names:
            write(name, size)
    except OSError:
        pass

exec(work)
"""
REFUSED = """
try:
    write("record", 1 << 20)
except OSError:
    print("full")
"""


def on_a_small_disk(folder: Path, work: str) -> str:
    mount = 'mount -t tmpfs -o size=16m,nr_inodes=200 small $1 && exec $2 -c "$3" $1 "$4"'
    command = [
        "unshare",
        "--user",
        "--map-root-user",
        "--mount",
        "sh",
        "-c",
        mount,
        "sh",
        str(folder),
        sys.executable,
        ON_A_SMALL_DISK,
        work,
    ]
    return subprocess.run(
        command, env={"PYTHONPATH": ROOT, "PATH": "/usr/bin:/bin:/usr/sbin"}, check=True, capture_output=True, text=True
    ).stdout


def test_room_is_held_once_and_given_back(tmp_path: Path) -> None:
    reserve = Reserve(str(tmp_path / "reserve"))
    assert not reserve.held
    assert reserve.hold()
    assert reserve.hold()
    files = list((tmp_path / "reserve").iterdir())
    assert (len(files), sum(file.stat().st_size for file in files)) == (FILES, BYTES)
    assert sum(file.stat().st_blocks * 512 for file in files) >= BYTES
    reserve.release()
    assert not reserve.held


def test_room_stays_held_while_there_is_other(tmp_path: Path) -> None:
    reserve = Reserve(str(tmp_path / "reserve"))
    reserve.hold()
    reserve.make_room()
    assert reserve.held


@pytest.mark.parametrize("fill", ["fill(['big'], 100 << 20)", "fill(map(str, range(300)), 0)"], ids=["bytes", "inodes"])
def test_room_is_given_on_a_disk_without_any_and_not_taken_back_before_there_is_more(tmp_path: Path, fill: str) -> None:
    work = f"reserve.hold()\n{fill}\n{REFUSED}reserve.make_room()\nwrite('record', 1 << 20)\nprint(reserve.hold(), reserve.held)"
    assert on_a_small_disk(tmp_path, work) == "full\nFalse False\n"


def test_no_room_is_held_where_there_is_too_little(tmp_path: Path) -> None:
    assert on_a_small_disk(tmp_path, "write('big', 9 << 20); print(reserve.hold(), os.listdir(disk))") == "False ['big']\n"
