from pathlib import Path

from sandbox_server.drivers.box import isolation
from sandbox_server.drivers.box.isolation import Isolation


def test_what_boot_wrote_is_what_the_others_read(tmp_path: Path) -> None:
    found = Isolation("users", "no", root_withheld=True, storage=None)
    (tmp_path / "isolation.json").write_text(found.encode())
    assert isolation.read(str(tmp_path / "isolation.json")) == found


def test_without_boot_nothing_is_promised(tmp_path: Path) -> None:
    assert isolation.read(str(tmp_path / "none")).level == "none"
