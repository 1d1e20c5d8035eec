"""Skills: a section of `settings`. Standard library only, because boot imports it."""

from dataclasses import dataclass

from sandbox_server.settings.kinds import PATHS, variable


@dataclass(frozen=True, slots=True)
class SkillsSettings:
    """Skills"""

    paths: tuple[str, ...] = variable(
        "AIO_SKILLS_PATH",
        PATHS,
        (),
        "Directories of skills, separated by colons, that are registered from the start. Install what they need yourself.",
    )
