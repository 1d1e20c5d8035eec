"""Skills over real file workers and a real spawner."""

import io
import shutil
import zipfile
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from sandbox_server.drivers.files.files import Files
from sandbox_server.drivers.spawn.process import Processes
from sandbox_server.features.skills.folders import SkillFolders

if TYPE_CHECKING:
    from tests.conftest import SpawnerDaemon


def skill_text(name: str | None, body: str = "Do it.") -> str:
    matter = f"name: {name}\n" if name else ""
    return f"---\n{matter}description: for tests\n---\n{body}\n"


def make_skill(folder: Path, name: str | None = None, **files: str) -> Path:
    """Write a skill of the agent's; a file's name has `_` for its dot."""
    folder.mkdir(parents=True)
    (folder / "SKILL.md").write_text(skill_text(name))
    for file, text in files.items():
        (folder / file.replace("_", ".")).write_text(text)
    for path in (folder.parent, folder, *folder.iterdir()):
        shutil.chown(path, "gem", "gem")
    return folder


def packed(**members: str) -> bytes:
    """A zip archive; a member's name has `__` for its slashes, and SKILL for SKILL.md."""
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as archive:
        for name, text in members.items():
            archive.writestr(name.replace("__", "/").replace("SKILL", "SKILL.md"), text)
    return out.getvalue()


@pytest.fixture
def folders(files: Files, spawner: "SpawnerDaemon") -> SkillFolders:
    return SkillFolders(files, Processes(spawner.socket))
