"""Somebody at a terminal."""

from types import SimpleNamespace
from typing import cast

import pytest

from sandbox_server.core import Caller
from sandbox_server.features.shell.session import ShellSession
from sandbox_server.features.shell.shell_input import ShellInput
from tests.controls import FreeControl

pytestmark = pytest.mark.anyio


async def test_the_lines_of_a_session_are_those_of_whoever_typed_last() -> None:
    noted: list[bool] = []
    control = FreeControl()
    state = SimpleNamespace(entered=lambda line: None, note_input=lambda *, by_person: noted.append(by_person))
    session = cast("ShellSession", SimpleNamespace(id="s-1", state=state))
    ann, bob = ShellInput(Caller("ann", person=True), control), ShellInput(Caller("bob", person=True), control)
    ann.typed(1)
    ann.session = bob.session = session
    assert await ann.may_type()
    ann.typed(2)
    state.entered("ls")
    bob.typed(3)
    state.entered("pwd")

    assert noted == [True, True]
    assert control.noted == [("ann", "keys", 1), ("ann", "keys", 2), ("bob", "keys", 3)]
    assert control.lines == [("ann", "s-1", "ls"), ("bob", "s-1", "pwd")]


async def test_what_a_program_types_is_noted_as_a_programs() -> None:
    noted: list[bool] = []
    state = SimpleNamespace(entered=lambda line: None, note_input=lambda *, by_person: noted.append(by_person))
    program = ShellInput(Caller("agent"), FreeControl())
    program.session = cast("ShellSession", SimpleNamespace(id="s-1", state=state))
    program.typed(1)

    assert noted == [False]
