"""The environments that the supervisor gives to its programs."""

from dataclasses import dataclass

import pytest

from sandbox_server import timeouts
from sandbox_server.boot.supervision import assign_environments
from sandbox_server.drivers.spawn.child_setup import Account


@dataclass
class Program:
    """A program's user, and what its configuration adds to its environment."""

    uid: int | None
    environment: dict[str, str] | None = None

    @property
    def factor(self) -> str | None:
        return (self.environment or {}).get(timeouts.VARIABLE)


def test_our_own_programs_get_the_factor_of_timeouts_and_those_of_the_agent_do_not(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(timeouts, "ENVIRONMENT", {timeouts.VARIABLE: "3"})
    programs = [Program(None), Program(1000), Program(0), Program(990, {"OWN": "x"})]
    assign_environments(programs, Account("gem", 1000, 1000, (), "/home/gem"), {"PATH": "/usr/bin", "HOME": "/home/gem"})
    assert [program.factor for program in programs] == [None, None, "3", "3"]
    assert (programs[3].environment or {})["OWN"] == "x"
