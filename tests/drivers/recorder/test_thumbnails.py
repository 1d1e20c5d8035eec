"""Small pictures on disk."""

from pathlib import Path

import pytest

from sandbox_server.drivers.recorder import thumbnails
from sandbox_server.drivers.recorder.thumbnails import Thumbnails


def test_a_picture_is_kept_under_its_name_and_the_oldest_makes_room(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(thumbnails, "MAX_KEPT", 2)
    kept = Thumbnails(str(tmp_path / "pictures"))
    assert kept.files() == []
    for number in range(3):
        kept.write(f"{number:016x}-after", b"picture %d" % number)
        (tmp_path / "pictures" / f"{number:016x}-after.jpg").touch()
    assert len(kept.files()) == 2
    assert kept.read(f"{2:016x}-after") == b"picture 2"
    assert kept.read(f"{0:016x}-after") is None


@pytest.mark.parametrize("name", ["../../etc/passwd", "", "0123456789abcdef-other", "0123456789abcdef-after/x"])
def test_no_name_leads_elsewhere(tmp_path: Path, name: str) -> None:
    kept = Thumbnails(str(tmp_path))
    assert kept.read(name) is None
    with pytest.raises(ValueError, match="no name"):
        kept.write(name, b"")
