"""A program that follows no links below some directories."""

import os
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from sandbox_server.drivers.box import nosymfollow


@pytest.fixture
def folder() -> Iterator[Path]:
    """A directory of the agent's that everybody enters, with a link that leads out of it."""
    with tempfile.TemporaryDirectory() as name:
        made = Path(name)
        made.chmod(0o755)
        (made / "file").write_text("own")
        (made / "link").symlink_to("/etc/hostname")
        yield made


def run(directories: list[str], *program: str) -> subprocess.CompletedProcess[str]:
    environment = {"PATH": os.environ["PATH"], **nosymfollow.environment()}
    return subprocess.run(
        [*nosymfollow.command(directories), *program],
        env=environment,
        user="desktop",
        capture_output=True,
        text=True,
        timeout=30,
        check=False,
    )


def test_files_are_read_and_links_are_not_followed(folder: Path) -> None:
    assert run([str(folder)], "cat", f"{folder}/file").stdout == "own"
    refused = run([str(folder)], "cat", f"{folder}/link")
    assert (refused.returncode, refused.stdout) == (1, "")
    assert "symbolic links" in refused.stderr


def test_links_elsewhere_lead_where_they_lead(folder: Path) -> None:
    assert run([str(folder)], "cat", "/proc/self/mounts").returncode == 0


def test_a_link_that_is_made_later_is_not_followed_either(folder: Path) -> None:
    late = folder / "late"
    script = f"ln -s /etc/hostname {late} && cat {late}"
    folder.chmod(0o777)
    assert "symbolic links" in run([str(folder)], "sh", "-c", script).stderr


def test_the_program_keeps_its_user_and_its_descriptors(folder: Path) -> None:
    found = run([str(folder)], "sh", "-c", "id -un; echo ${PYTHONPATH:-none}")
    assert found.stdout.split() == ["desktop", "none"]


def test_a_directory_that_nobody_enters_keeps_nothing_from_running(folder: Path) -> None:
    (folder / "closed").mkdir(mode=0)
    assert run([str(folder), f"{folder}/closed/within"], "true").returncode == 0
