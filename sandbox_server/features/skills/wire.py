"""What skills look like on the wire."""

from typing import Annotated, Any

from pydantic import Field

from sandbox_server.core import Model


class SkillForm(Model):
    """A skill to register, as a form."""

    file: Annotated[str, Field(json_schema_extra={"format": "binary"})] | None = None
    """A zip archive with one skill or several."""
    path: str | None = None
    """Without a file: the directory of a skill, or one of several skills. With a file: the directory that its skills are put into;
    without either, `~/.skills`."""
    name: str | None = None
    """Name of the directory that the archive's one skill gets. Default: what its SKILL.md says."""


class DependencyCommandResult(Model):
    command: list[str]
    success: bool
    stdout: str | None = None
    stderr: str | None = None


class SkillMetadata(Model):
    name: str
    path: str
    """The skill's directory."""
    metadata: dict[str, Any] = Field(default_factory=dict)
    """The front matter of its SKILL.md."""
    dependency_commands: list[DependencyCommandResult] = Field(default_factory=list)
    """How what it needs was installed, when it was registered."""


class SkillRegistrationResult(Model):
    count: int
    registered: list[SkillMetadata] = Field(default_factory=list)


class SkillMetadataCollection(Model):
    skills: list[SkillMetadata] = Field(default_factory=list)


class ListSkillsRequest(Model):
    names: str | None = None
    """Names, separated by commas; without them every skill."""


class SkillRef(Model):
    name: str


class SkillContentResult(Model):
    name: str
    path: str
    content: str
    """SKILL.md without its front matter."""


class ClearedSkills(Model):
    cleared: list[str]
    """Names that are registered no more; their files stay."""


class LoadSkillRequest(Model):
    name: str | None = None
    """Which skill; without it, what skills there are."""


class LoadedSkill(Model):
    text: str
    """The skill's instructions, or the list of skills with what each is for."""
    path: str | None = None
    """The skill's directory, with the files that its instructions speak of."""
