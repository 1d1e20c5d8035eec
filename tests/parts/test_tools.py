"""What an agent takes up for some work."""

from sandbox_server.parts import tools
from sandbox_server.parts.shared import Shared
from sandbox_server.settings import load


def test_skills_and_conversion_are_there_and_need_nothing_opened() -> None:
    part = tools.part(Shared(load({})))

    assert [feature.tag for feature in part.features] == ["skills", "mcp", "util", "ports"]
    assert part.opened == ()
