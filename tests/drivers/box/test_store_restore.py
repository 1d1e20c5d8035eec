"""A store that gets a checkpoint before its daemon runs."""

import io
import json
import multiprocessing
import os
import tarfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from sandbox_server.drivers.box import archive
from sandbox_server.drivers.box.box import BoxError
from sandbox_server.drivers.box.layer_store import StoreError
from sandbox_server.drivers.box.store_restore import has_checkpoints, has_run, restore_into
from tests.boxes import BoxDaemons


@pytest.fixture
def other(tmp_path_factory: pytest.TempPathFactory) -> Iterator[BoxDaemons]:
    """A box that was not started yet, on another volume."""
    folder = tmp_path_factory.mktemp("other")
    folder.chmod(0o755)
    made = BoxDaemons(folder)
    yield made
    made.stop()


def arguments(box: BoxDaemons, *more: str) -> list[str]:
    told = ["--socket", box.box_socket, "--store", str(box.store), "--record", str(box.record)]
    return [*told, "--agent-run", str(box.agent_run), "--client", "daemon", "--sudo-user", "gem", *more]


def restored(given: list[str], file: Path, seconds: float = 60) -> str:
    """What became of it, in a process of its own, as it gives up its rights."""
    context = multiprocessing.get_context("fork")
    ours, theirs = context.Pipe()

    def work() -> None:
        archive.load()
        try:
            with file.open("rb") as opened:
                theirs.send(restore_into(given, opened.fileno(), "fork 0123", seconds))
        except (StoreError, BoxError, OSError) as error:
            theirs.send(f"refused: {error}")
        os._exit(0)

    process = context.Process(target=work)
    process.start()
    assert ours.poll(seconds + 20)
    said = str(ours.recv())
    process.join()
    return said


@pytest.fixture
def archived(box: BoxDaemons, tmp_path: Path) -> Path:
    box.out("echo mine > /home/gem/kept; echo root > /etc/of-root")
    made = box.ask("checkpoint", label="x", parent=None, who="me", mode="stop")["checkpoint"]["id"]
    path = tmp_path / "checkpoint.tar.gz"
    with path.open("wb") as file:
        box.ask("export", file.fileno(), checkpoint=made)
    return path


def test_the_first_box_starts_from_it(archived: Path, other: BoxDaemons) -> None:
    assert not has_run(str(other.store))
    assert not has_checkpoints(str(other.store))
    made = restored(arguments(other), archived)
    assert not made.startswith("refused"), made
    assert not has_run(str(other.store))
    assert has_checkpoints(str(other.store))
    other.start()
    assert other.out("cat /home/gem/kept /etc/of-root") == "mine\nroot"
    assert has_run(str(other.store))
    [listed] = other.ask("list")["checkpoints"]
    assert (listed["id"], listed["who"]) == (made, "fork 0123")


def test_what_an_earlier_try_left_goes_first(archived: Path, other: BoxDaemons) -> None:
    restored(arguments(other), archived)
    second = restored(arguments(other), archived)
    other.start()
    assert [each["id"] for each in other.ask("list")["checkpoints"]] == [second]


def test_one_over_the_quota_and_one_that_is_none_leave_no_box(archived: Path, other: BoxDaemons, tmp_path: Path) -> None:
    assert "refused" in restored(arguments(other, "--quota", "3"), archived)
    (tmp_path / "none").write_bytes(b"x" * 5000)
    assert "refused" in restored(arguments(other), tmp_path / "none")
    assert not has_run(str(other.store))


def test_a_bomb_ends_at_the_quota_and_leaves_no_box(other: BoxDaemons, tmp_path: Path) -> None:
    record = {"id": "00000001", "parent": None, "label": "x", "who": "x", "why": "asked", "created": 1.0}
    content = json.dumps({"format": 1, "checkpoints": [record]}).encode()
    with tarfile.open(tmp_path / "bomb", "w:gz", format=tarfile.PAX_FORMAT) as made:
        for name, body in ((archive.RECORD, content), ("layers/00000001/zeros", bytes(64 << 20))):
            member = tarfile.TarInfo(name)
            member.size = len(body)
            made.addfile(member, io.BytesIO(body))
    assert (tmp_path / "bomb").stat().st_size < 1 << 20
    assert "quota" in restored(arguments(other, "--quota", str(8 << 20)), tmp_path / "bomb")
    assert not has_run(str(other.store))
    assert not has_checkpoints(str(other.store))


def test_a_damaged_store_is_told(tmp_path: Path) -> None:
    (tmp_path / "state.json").write_text("{")
    with pytest.raises(StoreError, match="damaged"):
        has_checkpoints(str(tmp_path))
