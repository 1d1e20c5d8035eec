"""SKILL.md as text: YAML front matter between two lines of `---`, then the instructions."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

MAX_FRONT_MATTER = 64 << 10
"""Limit of characters of YAML."""


class NotASkill(ValueError):
    """The text is not a SKILL.md. The message says why."""


@dataclass(frozen=True, slots=True)
class SkillText:
    """The two parts of a SKILL.md."""

    metadata: Mapping[str, Any]
    """The front matter as JSON values; dates are text."""
    content: str
    """The instructions."""


def parse(text: str) -> SkillText:
    """Split a SKILL.md; one without front matter has no metadata. Raises NotASkill."""
    lines = text.removeprefix("\ufeff").splitlines(keepends=True)
    if not lines or lines[0].strip() != "---":
        return SkillText({}, text)
    ends = [number for number, line in enumerate(lines) if number and line.strip() == "---"]
    if not ends:
        raise NotASkill("its front matter has no closing `---`")
    return SkillText(_metadata("".join(lines[1 : ends[0]])), "".join(lines[ends[0] + 1 :]).lstrip("\n"))


def _metadata(text: str) -> Mapping[str, Any]:
    import yaml  # a slow import, which only reading a skill needs

    if len(text) > MAX_FRONT_MATTER:
        raise NotASkill(f"its front matter has more than {MAX_FRONT_MATTER} characters")
    try:
        if any(isinstance(event, yaml.AliasEvent) for event in yaml.parse(text, yaml.CSafeLoader)):
            raise NotASkill("its front matter uses YAML aliases, which can stand for any amount of text")
        found = yaml.load(text, yaml.CSafeLoader)
        described: object = json.loads(json.dumps(found, default=str))
    except (yaml.YAMLError, TypeError, ValueError, RecursionError) as error:
        raise error if isinstance(error, NotASkill) else NotASkill(f"its front matter is not valid YAML: {_first_line(error)}") from None
    if described is not None and not isinstance(described, dict):
        raise NotASkill("its front matter must be a mapping")
    return described or {}


def _first_line(error: Exception) -> str:
    return str(error).partition("\n")[0] or type(error).__name__
