"""The Python client, from the wheel that its build makes."""

import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

PROJECT = Path(__file__).parent.parent / "clients" / "python"


def build_wheel(folder: Path) -> Path:
    """Build the wheel into a folder."""
    command = [sys.executable, "-m", "hatchling", "build", "--target", "wheel", "--directory", str(folder)]
    subprocess.run(command, cwd=PROJECT, check=True, capture_output=True)
    [wheel] = folder.glob("*.whl")
    return wheel


@contextmanager
def unpacked_wheel() -> Iterator[Path]:
    """A folder to import the package from."""
    with tempfile.TemporaryDirectory(prefix="client-") as folder:
        built = Path(folder, "built")
        with zipfile.ZipFile(build_wheel(built)) as archive:
            archive.extractall(folder)
        yield Path(folder)
