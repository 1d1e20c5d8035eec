"""`scripts/compare-builds` says what differs between two builds, and nothing of what is equal."""

import subprocess
from pathlib import Path

from tests.scripts.saved_images import FILES, layer, save
from tests.scripts.test_oci_archive import EPOCH, archive

SCRIPT = Path(__file__).parent.parent.parent / "scripts" / "compare-builds"


def compare(tmp_path: Path, first: list[bytes], second: list[bytes], *more: str) -> tuple[int, list[str]]:
    """Compare two images of these layers; gives the status and what is printed."""
    for name, layers in (("a", first), ("b", second)):
        archive(tmp_path / f"{name}.oci.tar", save(tmp_path / name, layers))
    command: list[str | Path] = [SCRIPT, tmp_path / "a.oci.tar", tmp_path / "b.oci.tar", *more]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    return done.returncode, done.stdout.splitlines()


def test_builds_of_another_time_are_equal(tmp_path: Path) -> None:
    assert compare(tmp_path, [layer(FILES, EPOCH + 1)], [layer(FILES, EPOCH + 2)]) == (0, [])


def test_each_file_that_differs_is_named_with_what_differs(tmp_path: Path) -> None:
    first, second = {"a": b"1", "b": b"1", "c": b"1"}, {"a": b"2", "b": b"1", "d": b"1"}
    assert compare(tmp_path, [layer(first, EPOCH)], [layer(second, EPOCH)]) == (
        1,
        [
            "linux/amd64: -1 COPY 0: a: content",
            "linux/amd64: -1 COPY 0: c: only in the first",
            "linux/amd64: -1 COPY 0: d: only in the second",
        ],
    )
    status, lines = compare(tmp_path, [layer(first, 5)], [layer(first, 6, 0o755)])
    assert (status, lines[0]) == (1, "linux/amd64: -1 COPY 0: a: mode, time")


def test_the_last_layers_can_be_compared_alone(tmp_path: Path) -> None:
    own = layer(FILES, EPOCH)
    assert compare(tmp_path, [layer({"a": b"1"}, 1), own], [layer({"a": b"2"}, 1), own], "1") == (0, [])
    assert compare(tmp_path, [layer({"a": b"1"}, 1), own], [layer({"a": b"2"}, 1), own], "2")[0] == 1
