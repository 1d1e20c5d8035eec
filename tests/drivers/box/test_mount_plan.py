import os
from pathlib import Path

import pytest

from sandbox_server.drivers.box import mount_plan
from sandbox_server.drivers.box.mount_plan import LayeredPart, Planner, SharedPart

FOLDERS = ["usr/bin", "etc", "home/gem", "proc", "sys", "dev", "run", "tmp", "sandbox", "empty", "opt/venv", "opt/tandem/custom_tools"]
FILES = ["usr/bin/true", "etc/passwd", "etc/hosts", "home/gem/.bashrc", "tmp/secret", "opt/venv/python", "opt/tandem/code", "opt/note"]


@pytest.fixture
def image(tmp_path: Path) -> Path:
    """A small tree like a container's."""
    root = tmp_path / "image"
    for name in FOLDERS:
        (root / name).mkdir(parents=True)
    for name in FILES:
        (root / name).write_text(name)
    (root / "bin").symlink_to("usr/bin")
    (root / ".stamp").write_text("x")
    return root


def planned(image: Path, *mounts: str) -> tuple[dict[str, str | None], Path]:
    base = image.parent / "base"
    base.mkdir()
    parts = Planner(str(base), sorted(mounts), ["/sandbox"], str(image)).plan()
    return {part.path: part.lower if isinstance(part, LayeredPart) else None for part in parts}, base


def test_the_root_is_a_copy_of_links_and_files_and_every_full_directory_has_layers(image: Path) -> None:
    parts, base = planned(image)
    assert parts == {"/": str(base), "/etc": f"{base}/etc", **{f"/{name}": f"{image}/{name}" for name in ("home", "opt", "usr")}}
    assert os.readlink(base / "bin") == "usr/bin"
    assert (base / ".stamp").read_text() == "x"
    assert sorted(os.listdir(base)) == sorted([".stamp", "bin", "dev", "empty", "etc", "home", "opt", "proc", "run", "sys", "tmp", "usr"])


def test_what_is_temporary_starts_empty_and_the_store_is_not_there(image: Path) -> None:
    _, base = planned(image)
    assert os.listdir(base / "tmp") == []
    assert not (base / "sandbox").exists()


def test_a_mount_of_the_container_s_user_is_shared(image: Path) -> None:
    parts, base = planned(image, "/home/gem")
    assert parts["/home/gem"] is None
    assert parts["/home"] == f"{base}/home"
    assert os.listdir(base / "home/gem") == []


def test_what_the_engine_mounts_is_copied_and_not_shared(image: Path) -> None:
    parts, base = planned(image, "/etc/hosts")
    assert "/etc/hosts" not in parts
    assert (base / "etc/hosts").read_text() == "etc/hosts"


def test_a_large_directory_with_a_mount_below_it_is_divided(image: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(mount_plan, "SMALL_ENTRIES", 2)
    parts, base = planned(image, "/opt/tandem/custom_tools")
    assert parts["/opt"] == f"{base}/opt"
    assert parts["/opt/venv"] == f"{image}/opt/venv"
    assert parts["/opt/tandem/custom_tools"] is None
    assert (base / "opt/note").read_text() == "opt/note"
    assert os.listdir(base / "opt/venv") == []


def test_parents_come_before_what_is_mounted_in_them(image: Path) -> None:
    base = image.parent / "base"
    base.mkdir()
    order = [part.path for part in Planner(str(base), ["/home/gem", "/home/gem/deep"], ["/sandbox"], str(image)).plan()]
    assert order.index("/") < order.index("/home") < order.index("/home/gem")
    assert "/home/gem/deep" not in order


def test_modes_and_owners_are_copied(image: Path) -> None:
    (image / "etc/shadow").write_text("x")
    (image / "etc/shadow").chmod(0o640)
    os.chown(image / "etc/shadow", 0, 42)
    (image / "tmp").chmod(0o1777)
    _, base = planned(image)
    status = (base / "etc/shadow").stat()
    assert (status.st_mode & 0o7777, status.st_gid) == (0o640, 42)
    assert (base / "tmp").stat().st_mode & 0o7777 == 0o1777


def test_mount_points_are_read_with_their_blanks(tmp_path: Path) -> None:
    table = tmp_path / "mountinfo"
    table.write_text("1 0 8:1 / / rw - ext4 /dev/x rw\n2 1 8:1 /a /with\\040blank rw - ext4 /dev/x rw\n")
    assert mount_plan.mount_points(str(table)) == ["/", "/with blank"]


def test_sudo_is_given_in_the_copy_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    etc = tmp_path / "etc"
    (etc / "sudoers.d").mkdir(parents=True)
    monkeypatch.setattr(Planner, "plan", lambda self: [LayeredPart("/etc", str(etc)), SharedPart("/data")])
    mount_plan.prepare("unused", hidden=[], sudo_user="gem")
    rule = etc / "sudoers.d/agent"
    assert rule.read_text() == "gem ALL=(ALL:ALL) NOPASSWD: ALL\n"
    assert rule.stat().st_mode & 0o777 == 0o440
