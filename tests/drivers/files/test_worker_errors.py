import os
from pathlib import Path

import pytest

from sandbox_server.drivers.files.worker_errors import FileRefused, require_directory, require_regular


def test_only_a_regular_file_is_taken_for_one(tmp_path: Path) -> None:
    (tmp_path / "f").touch()
    require_regular(os.stat(tmp_path / "f"), "f")
    with pytest.raises(IsADirectoryError):
        require_regular(os.stat(tmp_path), "d")
    os.mkfifo(tmp_path / "pipe")
    for path, kind in ((tmp_path / "pipe", "a named pipe"), (Path("/dev/null"), "a device")):
        with pytest.raises(FileRefused, match=f"is {kind}, not a regular file") as refusal:
            require_regular(os.stat(path), str(path))
        assert (refusal.value.kind, refusal.value.path) == ("invalid_target", str(path))


def test_only_a_directory_is_taken_for_one(tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to(tmp_path)
    require_directory(str(tmp_path / "link"))
    (tmp_path / "f").touch()
    with pytest.raises(NotADirectoryError):
        require_directory(str(tmp_path / "f"))
