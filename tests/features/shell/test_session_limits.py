"""Terminals that come and go: what of them stays, and that neither people nor programs take each other's places."""

import asyncio
from contextlib import AsyncExitStack

import pytest

from sandbox_server.core import Call, Caller
from sandbox_server.core.control import Reach
from sandbox_server.features.shell import sessions as module
from sandbox_server.features.shell.commands import ShellExecRequest
from sandbox_server.features.shell.session_limits import FOR_PEOPLE, FOR_TERMINALS
from tests.features.shell.conftest import Runner, Server
from tests.features.shell.test_terminal import shown_by, terminal
from tests.patience import eventually

pytestmark = pytest.mark.anyio

PERSON = Call(Caller("person", person=True), "request")
PROGRAM = Call(Caller("agent"), "request")


async def ids(server: Server) -> list[str]:
    return [session.id for session in await server.sessions.all()]


async def test_a_session_that_nobody_used_goes_with_its_terminal(server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "UNUSED_SECONDS", 0.05)
    async with server.serving() as shell:
        async with terminal(shell, PERSON) as page:
            assert await ids(server) == [shown_by(page)]
        await eventually(lambda: ids(server), lambda found: not found)


async def test_a_terminal_that_is_loaded_anew_finds_its_session(server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    async with server.serving() as shell:
        async with terminal(shell, PERSON) as page:
            session_id = shown_by(page)
            first = await server.sessions.get(session_id)
        async with terminal(shell, PERSON, session_id) as page:
            assert len(await _sweeps()) == 1
            with monkeypatch.context() as over:  # as if the time of the one that has begun were
                over.setattr(module, "UNUSED_SECONDS", 0.0)
                await server.sessions._sweep(first)
            assert await server.sessions.get(session_id) is first


async def test_a_terminal_that_comes_back_late_gets_a_session_of_the_same_name(server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "UNUSED_SECONDS", 0.05)
    async with server.serving() as shell:
        async with terminal(shell, PERSON, "mine") as page:
            assert page.output
        await eventually(lambda: ids(server), lambda found: not found)
        async with terminal(shell, PERSON, "mine") as page:
            assert (shown_by(page), page.closed) == ("mine", None)


@pytest.mark.parametrize("typed", [True, False])
async def test_a_session_that_was_used_outlives_its_terminal(server: Server, monkeypatch: pytest.MonkeyPatch, typed: bool) -> None:
    monkeypatch.setattr(module, "UNUSED_SECONDS", 0.05)
    async with server.serving() as shell:
        async with terminal(shell, PERSON, "mine") as page:
            if typed:
                page.say("input", "kept=yes\r")
                await eventually(lambda: "kept=yes" in page.output)
            else:
                await Runner(shell, "mine")("kept=yes")
        assert await _sweeps() == []
        assert (await Runner(shell, "mine")("echo $kept")).output == "yes\n"


async def test_what_a_page_left_before_the_server_started_again_goes_as_well(server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    async with server.serving() as shell, terminal(shell, PERSON, "unused"), terminal(shell, PERSON, "used"):
        await Runner(shell, "used")("true")
    monkeypatch.setattr(module, "UNUSED_SECONDS", 0.05)
    async with server.serving():
        await eventually(lambda: ids(server), lambda found: found == ["used"])


@pytest.mark.parametrize("caller", [PERSON, PROGRAM])
async def test_sixty_terminals_that_were_opened_and_dropped_keep_nobody_out(server: Server, caller: Call) -> None:
    async with server.serving(limit=4) as shell:
        for _ in range(60):
            async with terminal(shell, caller) as page:
                assert page.closed is None
        async with terminal(shell, PERSON) as page:
            assert page.closed is None
        reply = await shell.commands.exec_command(ShellExecRequest(command="echo in"))
        assert reply.data.output == "in\n"


async def test_programs_that_take_all_their_places_keep_no_person_out(server: Server) -> None:
    async with server.serving(limit=2) as shell:
        for name in ("one", "two"):
            await Runner(shell, name)("sleep 600", timeout=0)
        async with terminal(shell, PERSON) as page:
            assert page.closed is None


async def test_people_who_take_all_their_places_keep_no_program_out(server: Server) -> None:
    async with server.serving(limit=2) as shell:
        for number in range(FOR_PEOPLE):
            async with terminal(shell, PERSON, f"person{number}"):
                await Runner(shell, f"person{number}")("sleep 600", timeout=0)
        stats = await shell.sessions.get_session_stats()
        assert (stats.total_sessions, stats.people_sessions, stats.max_people_sessions) == (0, FOR_PEOPLE, FOR_PEOPLE)
        for name in ("one", "two"):
            assert (await Runner(shell, name)("echo in")).output == "in\n"


async def test_a_program_that_works_and_looks_in_every_session_of_people_keeps_no_person_out(server: Server) -> None:
    async with server.serving(limit=2) as shell:
        for number in range(FOR_PEOPLE):
            async with terminal(shell, PERSON, f"person{number}"):
                await Runner(shell, f"person{number}")("sleep 600", timeout=0)
        async with terminal(shell, PROGRAM, "person0"), terminal(shell, PERSON, "person1"):
            async with terminal(shell, PERSON, "newcomer") as page:
                assert page.closed is None
            assert {"newcomer", "person1"} <= set(await ids(server))
        assert len(await ids(server)) == FOR_PEOPLE


async def test_terminals_of_programs_keep_no_command_out(server: Server) -> None:
    async with server.serving(limit=1) as shell:
        async with AsyncExitStack() as open_:
            for number in range(FOR_TERMINALS):
                await open_.enter_async_context(terminal(shell, PROGRAM, f"terminal{number}"))
                await Runner(shell, f"terminal{number}")("sleep 600", timeout=0)
            reply = await shell.commands.exec_command(ShellExecRequest(command="echo in"))
            stats = await shell.sessions.get_session_stats()
        assert reply.data.output == "in\n"
        assert (stats.total_sessions, stats.terminal_sessions, stats.max_terminal_sessions) == (1, FOR_TERMINALS, FOR_TERMINALS)


async def test_eight_openings_of_the_page_make_no_session_and_leave_the_agents_to_it(server: Server) -> None:
    async with server.serving(limit=2) as shell:
        used = (await shell.commands.exec_command(ShellExecRequest(command="echo agent"))).data.session_id
        async with AsyncExitStack() as open_:
            for _ in range(8):
                page = await open_.enter_async_context(terminal(shell, PERSON, create=False))
                assert shown_by(page) == used
            reply = await shell.commands.exec_command(ShellExecRequest(command="echo still"))
        assert (reply.data.session_id, await ids(server)) == (used, [used])


async def test_a_terminal_for_which_there_is_no_room_says_why_and_is_not_to_try_again(
    server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "FOR_TERMINALS", 1)
    async with server.serving(limit=1) as shell, terminal(shell, PROGRAM, "one"):
        await Runner(shell, "one")("sleep 600", timeout=0)
        async with terminal(shell, PROGRAM) as page:
            assert page.closed is not None
            code, reason = page.closed
        assert (code, reason[:35]) == (4429, "all 1 terminals of programs are ope")
        assert page.all("error")[0]["data"].startswith("all 1 terminals of programs are open; close one")


async def test_a_program_opens_no_session_while_a_person_has_the_shells_but_looks_at_those_that_there_are(
    server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with server.serving() as shell:
        await Runner(shell, "there")("true")
        monkeypatch.setattr(shell.terminals._control, "drives", _held)
        async with terminal(shell, PROGRAM, "new") as page:
            assert page.closed is not None
            assert page.closed[0] == 4423
        async with terminal(shell, PROGRAM, "there") as page:
            assert page.closed is None
        async with terminal(shell, PERSON, "hers") as page:
            assert page.closed is None
        assert await ids(server) == ["there", "hers"]


async def _sweeps() -> list[str]:
    """What is about to close a session that nobody used."""
    return [task.get_name() for task in asyncio.all_tasks() if "unless somebody comes back" in task.get_name()]


def _held(caller: Caller, reach: Reach) -> bool:
    return False
