"""Skill folders of the agent: found, read, unpacked, and their dependencies installed."""

import posixpath
import secrets
from dataclasses import dataclass

from sandbox_server.core import Failure, FileError, InvalidArgument, Model
from sandbox_server.drivers.files.files import Files
from sandbox_server.drivers.files.operations import FileAccess
from sandbox_server.drivers.spawn.process import Processes
from sandbox_server.features.skills.front_matter import NotASkill, SkillText, parse

SKILL_FILE = "SKILL.md"
MAX_SKILL_BYTES = 1 << 20
MAX_FOLDERS = 500
"""Limit of entries of a directory that is searched for skills."""
MAX_UNPACKED = 512 << 20
"""Limit in bytes of an unpacked archive."""
UNPACK_SECONDS = 120.0
INSTALL_SECONDS = 600.0
MAX_OUTPUT = 16 << 10
"""Limit in bytes of an installer's output that is returned."""

_INSTALLERS = (
    ("requirements.txt", ("pip3", "install", "--no-input", "--disable-pip-version-check", "--requirement", "requirements.txt")),
    ("package.json", ("npm", "install", "--no-audit", "--no-fund")),
)


class DependencyCommandResult(Model):
    command: list[str]
    success: bool
    stdout: str | None = None
    stderr: str | None = None


@dataclass(frozen=True, slots=True)
class Folder:
    """A directory with a SKILL.md."""

    path: str
    text: SkillText

    @property
    def name(self) -> str:
        """The name in SKILL.md, else the directory's name."""
        return str(self.text.metadata.get("name") or posixpath.basename(self.path))


class SkillFolders:
    """Reads and makes skill folders with the agent's rights."""

    def __init__(self, files: Files, processes: Processes) -> None:
        self._files = files
        self._processes = processes

    async def find(self, path: str) -> list[Folder]:
        """Return the skill in a directory, or the skills in its sub-directories.

        Raises FileError if there is no such directory, InvalidArgument if there is no skill or an unreadable one.
        """
        access = self._files.access("read")
        path = posixpath.normpath(access.absolute(path))
        listing = await access.walk(path, depth=1, limit=MAX_FOLDERS, status=False)
        if listing.incomplete or listing.total > MAX_FOLDERS:
            raise InvalidArgument(f"{path} has more than {MAX_FOLDERS} entries: name a directory with the skills alone", path=path)
        if any(entry.path == SKILL_FILE for entry in listing.entries):
            return [await self.read(path)]
        inside = [f"{path}/{entry.path}" for entry in listing.entries if entry.directory]
        found = [folder for folder in inside if await _holds(access, f"{folder}/{SKILL_FILE}")]
        if not found:
            raise InvalidArgument(f"there is no {SKILL_FILE} in {path} or in a directory in it", path=path)
        return [await self.read(folder) for folder in found]

    async def read(self, path: str) -> Folder:
        """Read the skill of a directory; raises FileError or InvalidArgument."""
        file = posixpath.join(path, SKILL_FILE)
        raw, _ = await self._files.access("read").read(file, limit=MAX_SKILL_BYTES)
        try:
            return Folder(path, parse(raw.decode("utf-8")))
        except UnicodeDecodeError:
            raise InvalidArgument(f"{file} is not UTF-8", path=file) from None
        except NotASkill as error:
            raise InvalidArgument(f"{file} cannot be read as a skill: {error}", path=file) from None

    async def unpack(self, archive: str, directory: str, name: str | None) -> list[str]:
        """Unpack the skills of an archive into a directory, replacing skills of the same name, and return their paths.

        Nothing is written unless the whole archive is valid. Raises FileError and InvalidArgument.
        """
        access = self._files.access("extract", timeout=UNPACK_SECONDS)
        directory = posixpath.normpath(access.absolute(directory))
        staged = f"{directory}/.unpacked-{secrets.token_hex(6)}"
        try:
            await access.extract(archive, staged, limit=MAX_UNPACKED)
            found = await self.find(staged)
            if name is not None and len(found) > 1:
                raise InvalidArgument(f"the archive holds {len(found)} skills, which cannot all be {name!r}", name=name)
            return [await self._place(access, folder, staged, directory, name) for folder in found]
        finally:
            await access.delete(staged, recursive=True, missing_ok=True)

    async def install(self, path: str) -> list[DependencyCommandResult]:
        """Install the dependencies in requirements.txt and package.json, as the agent.

        Failures are returned, not raised.
        """
        access = self._files.access("read")
        return [await self._run(command, path) for file, command in _INSTALLERS if await _holds(access, f"{path}/{file}")]

    async def _place(self, access: FileAccess, folder: Folder, staged: str, directory: str, name: str | None) -> str:
        own = posixpath.basename(folder.path) if folder.path != staged else str(folder.text.metadata.get("name") or "")
        target = f"{directory}/{_as_name(name or own)}"
        await access.delete(target, recursive=True, missing_ok=True)
        await access.move(folder.path, target)
        return target

    async def _run(self, command: tuple[str, ...], path: str) -> DependencyCommandResult:
        try:
            done = await self._processes.run(
                command, cwd=path, env={"PIP_BREAK_SYSTEM_PACKAGES": "1"}, timeout=INSTALL_SECONDS, max_output=MAX_OUTPUT
            )
        except Failure as failure:
            return DependencyCommandResult(command=list(command), success=False, stderr=failure.message)
        out, err = (stream.decode("utf-8", "replace") for stream in (done.stdout, done.stderr))
        return DependencyCommandResult(command=list(command), success=done.exit.code == 0, stdout=out, stderr=err)


def _as_name(name: str) -> str:
    if not name or name.startswith(".") or "/" in name or "\0" in name:
        raise InvalidArgument(f"{name!r} is not a valid directory name for a skill: set `name`", name=name)
    return name


async def _holds(access: FileAccess, path: str) -> bool:
    try:
        return (await access.stat(path)).status.type == "file"
    except FileError:
        return False
