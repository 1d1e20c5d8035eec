import asyncio
import os
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from sandbox_server.core import FileError, InvalidArgument
from sandbox_server.features.skills import folders as module
from sandbox_server.features.skills.folders import SkillFolders
from tests.features.skills.conftest import make_skill, packed, skill_text

if TYPE_CHECKING:
    from tests.conftest import SpawnerDaemon

pytestmark = pytest.mark.anyio


def archive(home: Path, content: bytes) -> str:
    (home / "skills.zip").write_bytes(content)
    return str(home / "skills.zip")


async def test_a_folder_is_a_skill_or_holds_skills(folders: SkillFolders, home: Path) -> None:
    make_skill(home / "all/one", "first")
    make_skill(home / "all/two")
    (home / "all/empty").mkdir()
    assert [(folder.name, folder.path) for folder in await folders.find(f"{home}/all/")] == [
        ("first", f"{home}/all/one"),
        ("two", f"{home}/all/two"),
    ]
    assert [folder.name for folder in await folders.find(f"{home}/all/one")] == ["first"]


async def test_a_folder_without_skills_says_so(folders: SkillFolders, home: Path) -> None:
    with pytest.raises(InvalidArgument, match="no SKILL"):
        await folders.find(str(home))
    with pytest.raises(FileError):
        await folders.find(f"{home}/missing")


@pytest.mark.parametrize(("content", "problem"), [(b"\xff", "UTF-8"), (b"---\n", "no closing")])
async def test_a_skill_that_cannot_be_read_is_named(folders: SkillFolders, home: Path, content: bytes, problem: str) -> None:
    (make_skill(home / "bad") / "SKILL.md").write_bytes(content)
    with pytest.raises(InvalidArgument, match=f"bad/SKILL.md.*{problem}"):
        await folders.find(f"{home}/bad")


@pytest.mark.parametrize(
    ("members", "name", "expected"),
    [
        ({"SKILL": skill_text("pdf"), "tool.py": "1"}, None, ["pdf"]),
        ({"SKILL": skill_text(None)}, "mine", ["mine"]),
        ({"deep__SKILL": skill_text("pdf")}, None, ["deep"]),
        ({"deep__SKILL": skill_text("pdf")}, "mine", ["mine"]),
        ({"a__SKILL": skill_text("a"), "b__SKILL": skill_text("b")}, None, ["a", "b"]),
    ],
)
async def test_an_archive_is_put_in_place_by_the_names_of_its_skills(
    folders: SkillFolders, home: Path, members: dict[str, str], name: str | None, expected: list[str]
) -> None:
    placed = await folders.unpack(archive(home, packed(**members)), f"{home}/to", name)
    assert sorted(placed) == [f"{home}/to/{each}" for each in expected]
    assert sorted(os.listdir(home / "to")) == expected


async def test_a_skill_takes_the_place_of_the_one_before(folders: SkillFolders, home: Path) -> None:
    make_skill(home / "to/pdf", old_py="1")
    await folders.unpack(archive(home, packed(SKILL=skill_text("pdf"))), f"{home}/to", None)
    assert os.listdir(home / "to/pdf") == ["SKILL.md"]


@pytest.mark.parametrize(
    "members",
    [
        {"readme": "no skill"},
        {"SKILL": skill_text(None)},
        {"SKILL": skill_text("../up")},
        {"SKILL": skill_text("x"), "..__..__escaped": "1"},
        {"SKILL": "---\nname: ["},
    ],
)
async def test_an_archive_that_is_not_sound_leaves_nothing(folders: SkillFolders, home: Path, members: dict[str, str]) -> None:
    (home / "to").mkdir(mode=0o777)
    os.chmod(home / "to", 0o777)
    with pytest.raises((FileError, InvalidArgument)):
        await folders.unpack(archive(home, packed(**members)), f"{home}/to", None)
    assert os.listdir(home / "to") == []
    assert sorted(os.listdir(home)) == ["skills.zip", "to"]


async def test_a_zip_bomb_is_refused(folders: SkillFolders, home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MAX_UNPACKED", 1 << 20)
    with zipfile.ZipFile(home / "bomb.zip", "w", zipfile.ZIP_DEFLATED) as bomb:
        bomb.writestr("SKILL.md", skill_text("x"))
        bomb.writestr("zeros", bytes(2 << 20))
    with pytest.raises(FileError):
        await folders.unpack(f"{home}/bomb.zip", f"{home}/to", None)
    assert os.listdir(home / "to") == []


async def test_several_skills_cannot_all_have_one_name(folders: SkillFolders, home: Path) -> None:
    content = packed(a__SKILL=skill_text("a"), b__SKILL=skill_text("b"))
    with pytest.raises(InvalidArgument, match="2 skills"):
        await folders.unpack(archive(home, content), f"{home}/to", "one")


async def test_how_an_installation_went_is_told(folders: SkillFolders, home: Path, spawner: "SpawnerDaemon") -> None:
    installers = home / "bin"
    installers.mkdir()
    for name, script in (("pip3", "echo got $(cat requirements.txt)"), ("npm", "echo no network >&2; exit 1")):
        (installers / name).write_text(f"#!/bin/sh\n{script}\n")
        (installers / name).chmod(0o755)
    spawner.environment["PATH"] = f"{installers}:/usr/bin:/bin"
    spawner.stop()
    spawner.start()
    skill = make_skill(home / "needs", requirements_txt="x==1", package_json="{}")
    pip, npm = await folders.install(str(skill))
    assert (pip.command[:2], pip.success, pip.stdout) == (["pip3", "install"], True, "got x==1\n")
    assert (npm.command[0], npm.success, npm.stderr) == ("npm", False, "no network\n")


async def test_an_installer_that_is_not_there_is_told_too(folders: SkillFolders, home: Path, spawner: "SpawnerDaemon") -> None:
    spawner.environment["PATH"] = "/nonexistent"
    spawner.stop()
    spawner.start()
    [pip] = await folders.install(str(make_skill(home / "needs", requirements_txt="x")))
    assert not pip.success
    assert "pip3" in (pip.stderr or "")


async def test_a_skill_that_needs_nothing_runs_nothing(folders: SkillFolders, home: Path) -> None:
    assert await folders.install(str(make_skill(home / "plain"))) == []


def pipe(place: Path) -> None:
    os.mkfifo(place)


def sparse(place: Path) -> None:
    with place.open("wb") as file:
        file.truncate(1 << 30)


def bomb(place: Path) -> None:
    place.write_text("---\na: &a [x, x]\n" + "".join(f"b{n}: &b{n} [*a, *a]\n" for n in range(20)) + "---\n")


def deep(place: Path) -> None:
    place.write_text("---\na: " + "[" * 30_000 + "\n---\n")


@pytest.mark.parametrize(
    "make",
    [pipe, sparse, bomb, deep, lambda place: place.symlink_to("/dev/zero"), Path.mkdir, lambda place: place.symlink_to(place.name)],
    ids=["pipe", "gigabyte", "aliases", "depth", "device", "directory", "loop"],
)
async def test_a_skill_file_that_is_the_worst_is_refused_in_time(folders: SkillFolders, home: Path, make: Callable[[Path], None]) -> None:
    (home / "bad").mkdir()
    make(home / "bad/SKILL.md")
    async with asyncio.timeout(20):
        with pytest.raises((InvalidArgument, FileError)):
            await folders.find(f"{home}/bad")


async def test_a_directory_of_more_entries_than_are_looked_through_is_refused_and_not_cut(
    folders: SkillFolders, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "MAX_FOLDERS", 3)
    for number in range(5):
        make_skill(home / f"all/{number}")
    with pytest.raises(InvalidArgument, match="more than 3 entries"):
        await folders.find(f"{home}/all")
