"""Skills: registered, listed, read and removed. Their files stay the agent's."""

import asyncio
import logging
import posixpath
import re
import secrets
from collections.abc import Sequence
from typing import Annotated, Any

from pydantic import Field

from sandbox_server.core import Failure, InvalidArgument, Model, NotFound, Part, ResourceExhausted, TooLarge, Upload, operation
from sandbox_server.core.dispatch import InvalidFields
from sandbox_server.drivers.files.files import Files
from sandbox_server.drivers.storage.json_file import JsonFile
from sandbox_server.features.skills.folders import DependencyCommandResult, Folder, SkillFolders


class SkillForm(Model):
    """A skill to register, as a form."""

    file: Annotated[str, Field(json_schema_extra={"format": "binary"})] | None = None
    """A zip archive with one or several skills."""
    path: str | None = None
    """Without a file: the directory of a skill, or of several skills. With a file: the directory to unpack into, by default `~/.skills`.
    """
    name: str | None = None
    """Directory name for the archive's only skill. Default: the name in its SKILL.md."""


class SkillMetadata(Model):
    name: str
    path: str
    """The skill's directory."""
    metadata: dict[str, Any] = Field(default_factory=dict)
    """The front matter of its SKILL.md."""
    dependency_commands: list[DependencyCommandResult] = Field(default_factory=list)
    """The results of installing its dependencies, at its registration."""


class SkillRegistrationResult(Model):
    count: int
    registered: list[SkillMetadata] = Field(default_factory=list)


class SkillMetadataCollection(Model):
    skills: list[SkillMetadata] = Field(default_factory=list)


class ListSkillsRequest(Model):
    names: str | None = None
    """Comma-separated names; absent: every skill."""


class SkillRef(Model):
    name: str


class SkillContentResult(Model):
    name: str
    path: str
    content: str
    """SKILL.md without its front matter."""


class ClearedSkills(Model):
    cleared: list[str]
    """Names of removed skills. Their files stay."""


class LoadSkillRequest(Model):
    name: str | None = None
    """The skill; absent: the list of skills."""


class LoadedSkill(Model):
    text: str
    """The skill's instructions, or the list of skills with their descriptions."""
    path: str | None = None
    """The skill's directory, with the files that its instructions mention."""


MAX_SKILLS = 200
MAX_ARCHIVE = 64 << 20
"""Limit in bytes of an archive."""
HOME = "~/.skills"
"""Default directory for unpacked archives."""
_log = logging.getLogger(__name__)
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._ -]{0,63}")


class Skills:
    """The skills of this container. Those below `configured` are registered at the start."""

    tag = "skills"

    def __init__(self, files: Files, folders: SkillFolders, store: JsonFile, configured: Sequence[str]) -> None:
        self._files = files
        self._folders = folders
        self._store = store
        self._configured = configured
        self._changing = asyncio.Lock()

    @operation("POST /v1/skills/register", scope="files", form=SkillForm, acts="shell")
    async def register_skills(self, upload: Upload) -> SkillRegistrationResult:
        """Register skills: a folder with a SKILL.md, a folder of such folders, or a zip archive of either.

        The dependencies in requirements.txt and package.json are installed as the agent, and the answer has the
        results. Registering a name again replaces the skill.
        """
        async with self._changing:
            archive = await self._stored_upload(upload)
            path, name = upload.field("path"), upload.field("name")
            if archive is None:
                if not path:
                    raise InvalidFields([{"loc": ("body", "path"), "msg": "Give a file, a path or both", "type": "missing"}])
                found = await self._folders.find(path)
            else:
                found = await self._unpack(archive, path or HOME, name)
            return await self._register(found)

    @operation("GET /v1/skills/metadatas", scope="view")
    async def list_metadata(self, request: ListSkillsRequest) -> SkillMetadataCollection:
        """List skills with the metadata of their SKILL.md."""
        skills = await self._all_skills()
        wanted = [name.strip() for name in request.names.split(",") if name.strip()] if request.names else list(skills)
        return SkillMetadataCollection(skills=[_registered(skills, name) for name in wanted])

    @operation("DELETE /v1/skills", scope="files", destructive=True)
    async def clear_skills(self) -> ClearedSkills:
        """Remove every skill from the list. Their files stay."""
        async with self._changing:
            names = list(await self._all_skills())
            self._store.write({})
        return ClearedSkills(cleared=names)

    @operation("DELETE /v1/skills/{name}", scope="files", destructive=True)
    async def delete_skill(self, request: SkillRef) -> SkillMetadata:
        """Remove a skill from the list. Its files stay."""
        async with self._changing:
            skills = await self._all_skills()
            gone = _registered(skills, request.name)
            self._write([skill for skill in skills.values() if skill.name != request.name])
        return gone

    @operation("GET /v1/skills/{name}/content", scope="view")
    async def get_content(self, request: SkillRef) -> SkillContentResult:
        """Read the current instructions of a skill."""
        skill = _registered(await self._all_skills(), request.name)
        folder = await self._folders.read(skill.path)
        return SkillContentResult(name=skill.name, path=skill.path, content=folder.text.content)

    @operation("GET /v1/skills/load", scope="view", tool="sandbox_load_skill")
    async def load_skill(self, request: LoadSkillRequest) -> LoadedSkill:
        """Load the instructions of a skill, or list the skills."""
        if request.name:
            loaded = await self.get_content(SkillRef(name=request.name))
            return LoadedSkill(text=loaded.content, path=loaded.path)
        lines = [f"{skill.name}: {skill.metadata.get('description', 'no description')}" for skill in (await self._all_skills()).values()]
        return LoadedSkill(text="\n".join(lines) or "There are no skills.")

    async def _stored_upload(self, upload: Upload) -> str | None:
        """Store the uploaded archive where the agent's processes can read it; None if there is none."""
        received: str | None = None
        async for part in upload:
            if part.name != "file" or received:
                raise InvalidFields([{"loc": ("body", part.name), "msg": "One file, named `file`", "type": "too_long"}])
            received = await self._keep(part)
        return received

    async def _keep(self, part: Part) -> str | None:
        access = self._files.access("upload", timeout=300)
        path = f"/tmp/skill-{secrets.token_hex(8)}.zip"
        staged = await access.stage(path)
        try:
            async for chunk in part.chunks():
                if staged.size + len(chunk) > MAX_ARCHIVE:
                    raise TooLarge(f"an archive of skills may have at most {MAX_ARCHIVE} bytes", limit=MAX_ARCHIVE)
                await staged.write(chunk)
            if not staged.size:
                return None  # a form without a file sends an empty one
            await access.commit(staged, path)
        finally:
            staged.close()
        return path

    async def _unpack(self, archive: str, directory: str, name: str | None) -> list[Folder]:
        try:
            paths = await self._folders.unpack(archive, directory, name or None)
        finally:
            await self._files.access("delete").delete(archive, missing_ok=True)
        return [await self._folders.read(path) for path in paths]

    async def _register(self, found: Sequence[Folder]) -> SkillRegistrationResult:
        skills = await self._all_skills()
        _require_names(found)
        if len(skills.keys() | {folder.name for folder in found}) > MAX_SKILLS:
            raise ResourceExhausted(f"at most {MAX_SKILLS} skills are allowed", limit=MAX_SKILLS)
        new = [_described(folder).model_copy(update={"dependency_commands": await self._folders.install(folder.path)}) for folder in found]
        self._write([*(skills | {skill.name: skill for skill in new}).values()])
        return SkillRegistrationResult(count=len(new), registered=new)

    async def _all_skills(self) -> dict[str, SkillMetadata]:
        known = self._store.read()
        if known is not None:
            return {name: SkillMetadata.model_validate(skill) for name, skill in known.items()}
        skills = [_described(folder) for path in self._configured for folder in await self._configured_in(path)]
        self._write(skills)
        return {skill.name: skill for skill in skills}

    async def _configured_in(self, path: str) -> list[Folder]:
        try:
            found = await self._folders.find(path)
            _require_names(found)
        except Failure as failure:
            _log.warning("AIO_SKILLS_PATH names %s, whose skills are left out: %s", path, failure.message)
            return []
        return found

    def _write(self, skills: Sequence[SkillMetadata]) -> None:
        self._store.write({skill.name: skill.model_dump(mode="json") for skill in skills})


def _described(folder: Folder) -> SkillMetadata:
    return SkillMetadata(name=folder.name, path=folder.path, metadata=dict(folder.text.metadata))


def _registered(skills: dict[str, SkillMetadata], name: str) -> SkillMetadata:
    if name not in skills:
        raise NotFound(f"there is no skill {name!r}", name=name)
    return skills[name]


def _require_names(found: Sequence[Folder]) -> None:
    names = [folder.name for folder in found]
    for folder in found:
        if not _NAME.fullmatch(folder.name):
            message = f"{folder.name!r} cannot be a skill's name: letters, digits, spaces, dots, dashes, underscores, 64 at most"
            raise InvalidArgument(message, path=folder.path)
        if names.count(folder.name) > 1:
            raise InvalidArgument(f"two of these skills have the name {folder.name!r}", path=posixpath.dirname(folder.path))
