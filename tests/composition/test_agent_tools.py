"""What an agent uses for some work."""

from sandbox_server.composition.agent_tools import build_agent_tools, build_ports
from sandbox_server.composition.machine import build_machine
from sandbox_server.settings import load


def test_skills_and_conversion_are_there_and_need_nothing_opened() -> None:
    machine = build_machine(load({}))
    part = build_agent_tools(machine, build_ports(machine), lambda _: None)

    assert [feature.tag for feature in part.features] == ["skills", "mcp", "mcp", "util", "ports"]
    assert part.opened == ()
