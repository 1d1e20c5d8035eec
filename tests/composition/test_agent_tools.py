"""What an agent uses for some work."""

from sandbox_server.composition.agent_tools import build_agent_tools
from sandbox_server.composition.machine import build_machine
from sandbox_server.settings import load


def test_skills_and_conversion_are_there_and_need_nothing_opened() -> None:
    part = build_agent_tools(build_machine(load({})), lambda _: None)

    assert [feature.tag for feature in part.features] == ["skills", "mcp", "mcp", "util", "ports"]
    assert part.opened == ()
