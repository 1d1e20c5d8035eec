"""`scripts/engine` finds a client that answers and can build, whatever comes first in PATH."""

import subprocess
from pathlib import Path

SCRIPT = Path(__file__).parent.parent.parent / "scripts" / "engine"
WORKS = "exit 0"
SILENT = "exit 1"
CANNOT_BUILD = '[ "$1" = version ]'


def client(folder: Path, body: str, name: str = "docker") -> str:
    """Make a stand-in for an engine's client; gives its path."""
    folder.mkdir(exist_ok=True)
    path = folder / name
    path.write_text(f"#!/bin/sh\n{body}\n")
    path.chmod(0o755)
    return str(path)


def engine(*folders: Path, **environ: str) -> subprocess.CompletedProcess[str]:
    """Run the script with these directories first in PATH."""
    path = ":".join([*map(str, folders), "/usr/bin", "/bin"])
    return subprocess.run([SCRIPT], env={"PATH": path} | environ, capture_output=True, text=True, timeout=60, check=False)


def test_the_first_client_that_works_is_taken(tmp_path: Path) -> None:
    first = client(tmp_path / "a", WORKS)
    client(tmp_path / "b", WORKS)
    assert engine(tmp_path / "a", tmp_path / "b").stdout == f"{first}\n"


def test_a_client_without_its_builder_is_passed_over(tmp_path: Path) -> None:
    client(tmp_path / "a", CANNOT_BUILD)
    second = client(tmp_path / "b", WORKS)
    assert engine(tmp_path / "a", tmp_path / "b").stdout == f"{second}\n"


def test_a_client_whose_engine_does_not_answer_is_passed_over_for_another_engine(tmp_path: Path) -> None:
    client(tmp_path / "a", SILENT)
    podman = client(tmp_path / "a", WORKS, "podman")
    docker = client(tmp_path / "b", WORKS)
    assert engine(tmp_path / "a", tmp_path / "b").stdout == f"{docker}\n"
    (tmp_path / "b" / "docker").unlink()
    assert engine(tmp_path / "a", ENGINE=podman).stdout == f"{podman}\n"


def test_the_engine_that_somebody_chose_is_the_only_one_tried(tmp_path: Path) -> None:
    client(tmp_path / "a", WORKS)
    chosen = client(tmp_path / "b", CANNOT_BUILD)
    done = engine(tmp_path / "a", ENGINE=chosen)
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr == f"engine: {chosen} does not answer, or cannot build\n"
