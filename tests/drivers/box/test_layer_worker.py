import os
import signal
from pathlib import Path

from tests.boxes import BoxDaemons


def test_long_work_holds_nobody_up(box: BoxDaemons, tmp_path: Path) -> None:
    box.out("mkdir /home/gem/many && cd /home/gem/many && touch {1..5000}")
    made = box.ask("checkpoint", label="", who="me")["checkpoint"]["id"]
    readable, writable = os.pipe()  # nobody reads: the export waits
    with open(readable, "rb"), open(writable, "wb") as out:
        box.out("head -c 3000000 /dev/urandom > /home/gem/noise")
        box.ask("checkpoint", label="", who="me")
        with box.request_box_daemon("export", out.fileno(), checkpoint=box.ask("list")["head"]):
            assert box.ask("status")["running"]
            assert box.out("echo here") == "here"
    assert made in {one["id"] for one in box.ask("list")["checkpoints"]}


def test_an_import_that_holds_more_than_the_quota_leaves_is_refused(box: BoxDaemons, tmp_path: Path) -> None:
    box.out("head -c 1000000 /dev/zero > /home/gem/zeros")
    made = box.ask("checkpoint", label="", who="me")["checkpoint"]["id"]
    box.end_spawner()
    box.end_box_daemon(signal.SIGTERM)
    box.start_box_daemon("--quota", "1500000")
    with (tmp_path / "archive").open("w+b") as file:
        box.ask("export", file.fileno(), checkpoint=made)
        file.seek(0)
        assert box.answer("import", file.fileno(), who="me")["refused"] == "resource_exhausted"
